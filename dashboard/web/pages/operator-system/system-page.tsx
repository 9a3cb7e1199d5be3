import type { ReactNode } from 'react';
import { useAsk } from '../../api/use-ask.ts';
import { Banner } from '../../components/banner.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { ProcessesTable } from './processes-table.tsx';
import styles from './system.module.css';
import { inOrder, troublesOf } from './system-figures.ts';
import { DatabaseStats, SystemStats } from './system-stats.tsx';

/** As often as the processes report. */
const REFRESH_MS = 2_000;

export function SystemPage(): ReactNode {
  const { data, error, refetch } = useAsk('GET /api/system', {}, { refreshMs: REFRESH_MS });
  return (
    <>
      <PageHeader title="System" description="The gateway’s processes and their database, every two seconds." />
      {error && !data ? (
        <ErrorState problem={error} onRetry={() => void refetch()} />
      ) : (
        <>
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
        </>
      )}
    </>
  );
}

/** What stands between backticks is code. */
function withCode(text: string): ReactNode {
  return text.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part));
}
