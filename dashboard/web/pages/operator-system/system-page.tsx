import type { ReactNode } from 'react';
import type { ProcessView, SystemView } from '#contract/operator.ts';
import { countOf } from '#core/count-of.ts';
import type { ReportedEnvoy } from '#core/process-figures.ts';
import { useAsk } from '../../api/queries.ts';
import { Banner, EmptyState, PageHeader, Stat, StatRow, UnlessFailed } from '../../components/panels.tsx';
import { Detailed, Instant, Money, ProgressBar, StatusPill } from '../../components/values.tsx';
import { formatBytes, formatCount, formatDuration, formatInstant, formatPercent } from '../../format/format.ts';
import { type Column, figureColumn, Table } from '../../table/table.tsx';
import { formatRate, inOrder, ratesOf, totalsOf, troublesOf } from './system-figures.ts';

/** The interval of the process reports. */
const REFRESH_MS = 2_000;

export function SystemPage(): ReactNode {
  const system = useAsk('GET /api/system', {}, { refreshMs: REFRESH_MS });
  const { data } = system;
  return (
    <>
      <PageHeader
        title="System"
        help="observability.html"
        description="Gateway processes and the database, updated every two seconds."
      />
      <UnlessFailed query={system}>
        {data &&
          troublesOf(data).map(({ tone, title, text }) => (
            <Banner key={title} tone={tone} title={title}>
              {withCode(text)}
            </Banner>
          ))}
        <SystemStats processes={data?.processes} />
        <section className="section" aria-labelledby="processes">
          <h2 id="processes">Processes</h2>
          <Table
            caption="Gateway processes"
            columns={[...COLUMNS, uptime(data?.nowMs ?? 0)]}
            rows={data && inOrder(data.processes)}
            density="dense"
            skeletonRows={1}
            empty={
              <EmptyState icon="system" title="No gateway process is reporting">
                Start the gateway with this database. Its processes appear here within seconds.
              </EmptyState>
            }
          />
        </section>
        <section className="section" aria-labelledby="database">
          <h2 id="database">Database</h2>
          <DatabaseStats database={data?.database} />
        </section>
      </UnlessFailed>
    </>
  );
}

function withCode(text: string): ReactNode {
  return text.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part));
}

/** Absent while loading. */
function SystemStats({ processes }: { readonly processes: readonly ProcessView[] | undefined }): ReactNode {
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
      <Stat label="Held" value={totals && <Money nanoUsd={totals.heldNanoUsd} />} note="for running requests" />
      <Stat label="Waiting charges" value={totals && formatCount(totals.waitingCharges)} note="not yet in PostgreSQL" />
    </StatRow>
  );
}

/** Absent while loading. */
function DatabaseStats({ database }: { readonly database: SystemView['database'] | undefined }): ReactNode {
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
              label="Connections in use"
              fraction={database.connections / database.maxConnections}
              text={connections ?? ''}
            />
          )
        }
      />
    </StatRow>
  );
}

const COLUMNS: readonly Column<ProcessView>[] = [
  {
    header: 'Process',
    cell: ({ host, worker, pid, figures }) => (
      <Detailed detail={`pid ${pid}, ${figures.gatewayVersion}`}>{`${host} #${worker}`}</Detailed>
    ),
  },
  { header: 'State', cell: (process) => <State of={process} /> },
  figure('Requests', (process) => {
    const { requests, failures } = ratesOf(process);
    return <Detailed detail={`${formatRate(failures)}/s failed`}>{`${formatRate(requests)}/s`}</Detailed>;
  }),
  figure('In flight', ({ figures }) => formatCount(figures.requests.inFlight)),
  figure('Held', ({ figures: { holds } }) => (
    <Detailed detail={countOf(holds.count, 'hold')}>
      <Money nanoUsd={holds.totalNanoUsd} />
    </Detailed>
  )),
  figure('Waiting charges', ({ figures: { waitingCharges } }) => (
    <Detailed detail={formatBytes(waitingCharges.bytes)}>{formatCount(waitingCharges.count)}</Detailed>
  )),
  figure('Log lines', ({ figures: { requestLog } }) => (
    <Detailed detail={`${formatCount(requestLog?.dropped ?? 0)} dropped`}>
      {`${formatCount(requestLog?.waiting ?? 0)} waiting`}
    </Detailed>
  )),
  figure('Lag p99', ({ figures }) => (
    <span data-hint="Of the event loop">{formatDuration(figures.eventLoopLagMs.p99)}</span>
  )),
  figure('CPU, memory', ({ figures }) => (
    <Detailed detail={formatBytes(figures.rssBytes)}>{formatPercent(figures.cpuFraction)}</Detailed>
  )),
];

/** A figure of a process. Empty for a process that is gone. */
function figure(header: string, cell: (process: ProcessView) => ReactNode): Column<ProcessView> {
  return figureColumn(header, (process) => (process.state === 'gone' ? '–' : cell(process)));
}

/** `nowMs` is the server's clock. */
function uptime(nowMs: number): Column<ProcessView> {
  return figure('Up', ({ startedAtMs }) => (
    <span data-hint={`Since ${formatInstant(startedAtMs)}`}>{formatDuration(Math.max(0, nowMs - startedAtMs))}</span>
  ));
}

const STATES = {
  ready: { tone: 'good', words: 'Ready' },
  draining: { tone: 'neutral', words: 'Draining' },
  not_ready: { tone: 'warn', words: 'Not ready' },
  gone: { tone: 'neutral', words: 'Gone' },
} as const;

function State({ of: process }: { readonly of: ProcessView }): ReactNode {
  const { tone, words } = STATES[process.state];
  return (
    <Detailed detail={moreOf(process)}>
      <StatusPill tone={tone}>{words}</StatusPill>
    </Detailed>
  );
}

function moreOf({ state, figures: { notReady, envoy }, reportedAtMs }: ProcessView): ReactNode {
  if (state === 'gone') return <Instant atMs={reportedAtMs} show="relative" />;
  return notReady ?? (envoy && envoyLabel(envoy));
}

function envoyLabel(envoy: ReportedEnvoy): string {
  return envoy.reachable ? `Envoy ${envoy.version} ${envoy.state.toLowerCase()}` : 'Envoy does not respond';
}
