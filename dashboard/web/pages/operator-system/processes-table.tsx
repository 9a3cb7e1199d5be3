import type { ReactNode } from 'react';
import type { ProcessView } from '#contract/operator.ts';
import { countOf } from '#core/count-of.ts';
import { StatusPill } from '../../components/badge.tsx';
import { Instant, Money } from '../../components/figures.tsx';
import { EmptyState } from '../../components/states.tsx';
import { formatInstant } from '../../format/format-instant.ts';
import { formatBytes, formatCount, formatDuration, formatPercent } from '../../format/format-number.ts';
import { type Column, Table } from '../../table/table.tsx';
import styles from './system.module.css';
import { formatRate } from './system-figures.ts';

export interface ProcessesTableProps {
  /** Absent while loading. */
  readonly processes: readonly ProcessView[] | undefined;
  /** The server's clock. */
  readonly nowMs: number;
}

export function ProcessesTable({ processes, nowMs }: ProcessesTableProps): ReactNode {
  return (
    <Table
      caption="Gateway processes"
      columns={[...COLUMNS, uptime(nowMs)]}
      rows={processes}
      rowKey={({ id }) => id}
      dense
      skeletonRows={1}
      empty={
        <EmptyState icon="system" title="No process has reported">
          Start the gateway with this database: its processes appear here within seconds.
        </EmptyState>
      }
    />
  );
}

const COLUMNS: readonly Column<ProcessView>[] = [
  {
    id: 'process',
    header: 'Process',
    cell: ({ host, worker, pid, version }) => (
      <div className={styles.process}>
        <Two first={`${host} #${worker}`} second={`pid ${pid}, ${version}`} />
      </div>
    ),
  },
  { id: 'state', header: 'State', cell: (process) => <State of={process} /> },
  figure('requests', 'Requests', ({ requestsPerSecond, failuresPerSecond }) => (
    <Two first={`${formatRate(requestsPerSecond)}/s`} second={`${formatRate(failuresPerSecond)}/s failed`} />
  )),
  figure('flight', 'In flight', ({ requestsInFlight }) => formatCount(requestsInFlight)),
  figure('held', 'Held', ({ heldNanoUsd, holds }) => (
    <Two first={<Money nanoUsd={heldNanoUsd} />} second={countOf(holds, 'hold')} />
  )),
  figure('spool', 'Spool', ({ spoolCharges, spoolBytes }) => (
    <Two first={formatCount(spoolCharges)} second={formatBytes(spoolBytes)} />
  )),
  figure('log', 'Log lines', ({ logRowsWaiting, logRowsDropped }) => (
    <Two first={`${formatCount(logRowsWaiting)} waiting`} second={`${formatCount(logRowsDropped)} dropped`} />
  )),
  figure('lag', 'Lag p99', ({ eventLoopLagP99Ms }) => (
    <span data-hint="Of the event loop">{formatDuration(eventLoopLagP99Ms)}</span>
  )),
  figure('cpu', 'CPU, memory', ({ cpuFraction, rssBytes }) => (
    <Two first={formatPercent(cpuFraction)} second={formatBytes(rssBytes)} />
  )),
];

/** A figure of a process. Empty for a process that is gone. */
function figure(id: string, header: string, cell: (process: ProcessView) => ReactNode): Column<ProcessView> {
  return { id, header, numeric: true, cell: (process) => (process.state === 'gone' ? '–' : cell(process)) };
}

function uptime(nowMs: number): Column<ProcessView> {
  return figure('uptime', 'Up', ({ startedAtMs }) => (
    <span data-hint={`Since ${formatInstant(startedAtMs)}`}>{formatDuration(Math.max(0, nowMs - startedAtMs))}</span>
  ));
}

const STATES = {
  ready: { tone: 'good', words: 'Ready' },
  not_ready: { tone: 'warn', words: 'Not ready' },
  gone: { tone: 'neutral', words: 'Gone' },
} as const;

function State({ of: process }: { readonly of: ProcessView }): ReactNode {
  const { tone, words } = STATES[process.state];
  const more = moreOf(process);
  return (
    <div className={styles.state}>
      <StatusPill tone={tone}>{words}</StatusPill>
      {more && <span className={styles.second}>{more}</span>}
    </div>
  );
}

function moreOf({ state, notReadyReason, envoy, reportedAtMs }: ProcessView): ReactNode {
  if (state === 'gone') return <Instant atMs={reportedAtMs} show="relative" />;
  return notReadyReason ?? (envoy && envoyLabel(envoy));
}

function envoyLabel(envoy: NonNullable<ProcessView['envoy']>): string {
  return envoy.reachable ? `Envoy ${envoy.version} ${envoy.state.toLowerCase()}` : 'Envoy does not answer';
}

function Two({ first, second }: { readonly first: ReactNode; readonly second: ReactNode }): ReactNode {
  return (
    <div className={styles.two}>
      <span>{first}</span>
      <span className={styles.second}>{second}</span>
    </div>
  );
}
