import type { ReactNode } from 'react';
import type { ProcessView, SystemView } from '#contract/operator.ts';
import { useAsk } from '../../api/use-ask.ts';
import { Banner } from '../../components/banner.tsx';
import { Stat, StatRow } from '../../components/card.tsx';
import { Money } from '../../components/figures.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { UnlessFailed } from '../../components/states.tsx';
import { formatBytes, formatCount } from '../../format/format-number.ts';
import { ProcessesTable } from './processes-table.tsx';
import styles from './system.module.css';
import { formatRate, inOrder, totalsOf, troublesOf } from './system-figures.ts';

/** The interval of the process reports. */
const REFRESH_MS = 2_000;

export function SystemPage(): ReactNode {
  const system = useAsk('GET /api/system', {}, { refreshMs: REFRESH_MS });
  const { data } = system;
  return (
    <>
      <PageHeader title="System" description="The gateway’s processes and their database, every two seconds." />
      <UnlessFailed query={system}>
        {data &&
          troublesOf(data).map(({ tone, title, text }) => (
            <Banner key={title} tone={tone} title={title}>
              {withCode(text)}
            </Banner>
          ))}
        <SystemStats processes={data?.processes} />
        <section className={styles.section} aria-labelledby="processes">
          <h2 id="processes">Processes</h2>
          <ProcessesTable processes={data && inOrder(data.processes)} nowMs={data?.nowMs ?? 0} />
        </section>
        <section className={styles.section} aria-labelledby="database">
          <h2 id="database">Database</h2>
          <DatabaseStats database={data?.database} />
        </section>
      </UnlessFailed>
    </>
  );
}

/** Renders text between backticks as code. */
function withCode(text: string): ReactNode {
  return text.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part));
}

/** Absent while loading. */
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

/** Absent while loading. */
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
