import type { ReactNode } from 'react';
import type { ProcessView } from '../../../contract/operator.ts';
import { StatusPill } from '../../components/badge.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Instant } from '../../components/instant.tsx';
import { Money } from '../../components/money.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { formatBytes, formatCount, formatDuration, formatPercent } from '../../format/format-number.ts';
import styles from './system.module.css';
import { formatRate } from './system-figures.ts';

export interface ProcessesTableProps {
  /** Absent: coming. */
  readonly processes: readonly ProcessView[] | undefined;
  /** By the server's clock. */
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
    cell: ({ host, worker, pid, version }) => <Two first={`${host} #${worker}`} second={`pid ${pid}, ${version}`} />,
  },
  { id: 'state', header: 'State', cell: (process) => <State of={process} /> },
  {
    id: 'requests',
    header: 'Requests',
    numeric: true,
    cell: ({ requestsPerSecond, failuresPerSecond }) => (
      <Two first={`${formatRate(requestsPerSecond)}/s`} second={`${formatRate(failuresPerSecond)}/s failed`} />
    ),
  },
  { id: 'flight', header: 'In flight', numeric: true, cell: ({ requestsInFlight }) => formatCount(requestsInFlight) },
  {
    id: 'held',
    header: 'Held',
    numeric: true,
    cell: ({ heldNanoUsd, holds }) => (
      <Two first={<Money nanoUsd={heldNanoUsd} />} second={`${formatCount(holds)} holds`} />
    ),
  },
  {
    id: 'spool',
    header: 'Spool',
    numeric: true,
    cell: ({ spoolCharges, spoolBytes }) => <Two first={formatCount(spoolCharges)} second={formatBytes(spoolBytes)} />,
  },
  {
    id: 'log',
    header: 'Log lines',
    numeric: true,
    cell: ({ logRowsWaiting, logRowsDropped }) => (
      <Two first={`${formatCount(logRowsWaiting)} waiting`} second={`${formatCount(logRowsDropped)} dropped`} />
    ),
  },
  {
    id: 'lag',
    header: 'Loop lag p99',
    numeric: true,
    cell: ({ eventLoopLagP99Ms }) => formatDuration(eventLoopLagP99Ms),
  },
  {
    id: 'cpu',
    header: 'CPU, memory',
    numeric: true,
    cell: ({ cpuFraction, rssBytes }) => <Two first={formatPercent(cpuFraction)} second={formatBytes(rssBytes)} />,
  },
];

function uptime(nowMs: number): Column<ProcessView> {
  return {
    id: 'uptime',
    header: 'Up',
    numeric: true,
    cell: ({ state, startedAtMs, reportedAtMs }) =>
      state === 'gone' ? (
        <span className={styles.muted}>
          left <Instant atMs={reportedAtMs} show="relative" />
        </span>
      ) : (
        <span data-hint={`Since ${new Date(startedAtMs).toISOString()}`}>
          {formatDuration(Math.max(0, nowMs - startedAtMs))}
        </span>
      ),
  };
}

const STATES = {
  ready: { tone: 'good', words: 'Ready' },
  not_ready: { tone: 'warn', words: 'Not ready' },
  gone: { tone: 'neutral', words: 'Gone' },
} as const;

function State({ of: { state, notReadyReason, envoy } }: { readonly of: ProcessView }): ReactNode {
  const { tone, words } = STATES[state];
  return (
    <div className={styles.state}>
      <StatusPill tone={tone}>{words}</StatusPill>
      {state !== 'gone' && (notReadyReason ?? (envoy && envoyWords(envoy))) && (
        <span className={styles.second}>{notReadyReason ?? (envoy && envoyWords(envoy))}</span>
      )}
    </div>
  );
}

function envoyWords(envoy: NonNullable<ProcessView['envoy']>): string {
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
