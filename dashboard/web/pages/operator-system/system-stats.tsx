import type { ReactNode } from 'react';
import type { ProcessView } from '../../../contract/operator.ts';
import { Stat, StatRow } from '../../components/card.tsx';
import { Money } from '../../components/money.tsx';
import { formatCount } from '../../format/format-number.ts';
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
