import type { ReactNode } from 'react';
import type { ProcessView, SystemView } from '../../../contract/operator.ts';
import { Stat, StatRow } from '../../components/card.tsx';
import { Money } from '../../components/figures.tsx';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { formatBytes, formatCount } from '../../format/format-number.ts';
import { formatRate, totalsOf } from './system-figures.ts';

/** Absent: coming. */
export function SystemStats({ processes }: { readonly processes: readonly ProcessView[] | undefined }): ReactNode {
  const totals = processes && totalsOf(processes);
  return (
    <StatRow>
      <Stat label="Ready" value={totals && `${totals.ready} of ${totals.reporting}`} note="processes" />
      <Stat
        label="Requests"
        value={totals && `${formatRate(totals.requestsPerSecond)}/s`}
        note={totals && `${formatRate(totals.failuresPerSecond)}/s failed`}
      />
      <Stat label="In flight" value={totals && formatCount(totals.requestsInFlight)} note="requests" />
      <Stat label="Held" value={totals && <Money nanoUsd={totals.heldNanoUsd} />} note="for requests in flight" />
      <Stat label="Spool" value={totals && formatCount(totals.spoolCharges)} note="charges to be booked" />
    </StatRow>
  );
}

/** Absent: coming. */
export function DatabaseStats({ database }: { readonly database: SystemView['database'] | undefined }): ReactNode {
  const connections = database && `${database.connections} of ${database.maxConnections}`;
  return (
    <StatRow>
      <Stat label="PostgreSQL" value={database?.version} note={database && `Schema ${database.schemaVersion}`} />
      <Stat label="Size" value={database && formatBytes(database.sizeBytes)} note="with indexes and request log" />
      <Stat
        label="Connections"
        value={connections}
        note={
          database && (
            <ProgressBar
              label="Connections that are taken"
              fraction={database.connections / database.maxConnections}
              text={connections ?? ''}
            />
          )
        }
      />
    </StatRow>
  );
}
