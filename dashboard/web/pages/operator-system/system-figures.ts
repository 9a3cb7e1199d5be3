import type { ProcessView, SystemView } from '#contract/operator.ts';
import { countOf } from '#core/count-of.ts';
import { connectionsTrouble, isSlow } from '#core/process-figures.ts';

export function totalsOf(processes: readonly ProcessView[]) {
  const live = processes.filter(({ state }) => state !== 'gone');
  const sum = (figure: (process: ProcessView) => number) => live.reduce((total, process) => total + figure(process), 0);
  return {
    ready: live.filter(({ state }) => state === 'ready').length,
    /** Includes processes that are not ready. */
    reporting: live.length,
    requestsInFlight: sum(({ figures }) => figures.requests.inFlight),
    requestsPerSecond: sum((process) => ratesOf(process).requests),
    failuresPerSecond: sum((process) => ratesOf(process).failures),
    heldNanoUsd: live.reduce((total, { figures }) => total + BigInt(figures.holds.totalNanoUsd), 0n).toString(),
    waitingCharges: sum(({ figures }) => figures.waitingCharges.count),
    logRowsDropped: sum(({ figures }) => figures.requestLog?.dropped ?? 0),
  };
}

/** Per second. */
export function ratesOf({ figures: { overMs, requests } }: ProcessView): { requests: number; failures: number } {
  const overSeconds = Math.max(overMs, 1) / 1000;
  return { requests: requests.ended / overSeconds, failures: requests.failed / overSeconds };
}

/** `0.4` below ten, `38` above; `0` is exactly zero. */
export function formatRate(perSecond: number): string {
  if (perSecond === 0) return '0';
  if (perSecond < 0.05) return '<0.1';
  return perSecond < 9.95 ? perSecond.toFixed(1) : Math.round(perSecond).toLocaleString('en-US');
}

/** Sorted by host, then by worker. */
export function inOrder(processes: readonly ProcessView[]): readonly ProcessView[] {
  return processes.toSorted(
    (a, b) => a.host.localeCompare(b.host, 'en') || a.worker - b.worker || b.startedAtMs - a.startedAtMs,
  );
}

export interface Trouble {
  readonly tone: 'warn' | 'bad';
  readonly title: string;
  readonly text: string;
}

/** Problems for the operator with their remedies, worst first. */
export function troublesOf({ processes, database, deadLetters }: SystemView): readonly Trouble[] {
  const { reporting, waitingCharges, logRowsDropped } = totalsOf(processes);
  const live = processes.filter(({ state }) => state !== 'gone');
  const notReady = live.filter(({ state }) => state === 'not_ready').length;
  const unreachable = live.filter(({ figures }) => figures.envoy?.reachable === false);
  const slow = live.filter(({ figures }) => isSlow(figures));
  const connections = connectionsTrouble(database);
  const troubles: (Trouble | false)[] = [
    reporting === 0 && {
      tone: 'bad',
      title: 'No gateway process is reporting',
      text: 'None is running, or none reaches this database. On the host of the gateway, `npm run -s gateway -- doctor` says what is wrong.',
    },
    deadLetters > 0 && {
      tone: 'bad',
      title: `The ledger refused ${deadLetters === 1 ? 'a charge' : `${deadLetters.toLocaleString('en-US')} charges`}`,
      text: 'They are rows of dead_letters, each with its reason, and were not charged. `npm run -s gateway -- ledger dead-letters list` shows them; each can be retried or forgiven.',
    },
    notReady > 0 && {
      tone: 'bad',
      title: `${notReady} of ${reporting} ${reporting === 1 ? 'process' : 'processes'} not ready`,
      text: 'A load balancer that asks /ready sends no request there. The table shows the reason.',
    },
    waitingCharges > 0 && {
      tone: 'bad',
      title: `${countOf(waitingCharges, 'charge waits', 'charges wait')} for the database`,
      text: 'PostgreSQL does not take the charges, and completions are refused meanwhile.',
    },
    unreachable.length > 0 && {
      tone: 'bad',
      title: 'Envoy does not respond',
      text: `Nothing can be served on ${listOf(unreachable.map(({ host }) => host))}. The supervisor starts it again; its log says why it ended.`,
    },
    connections !== undefined && {
      tone: connections === 'problem' ? 'bad' : 'warn',
      title: 'The database is running out of connections',
      text: 'Raise max_connections of PostgreSQL, or run fewer processes against it.',
    },
    logRowsDropped > 0 && {
      tone: 'warn',
      title: `${countOf(logRowsDropped, 'row of the request log was', 'rows of the request log were')} dropped`,
      text: 'The database did not accept them fast enough. Charges do not depend on them.',
    },
    slow.length > 0 && {
      tone: 'warn',
      title: `${slow.length === 1 ? 'A process answers' : `${slow.length} processes answer`} slowly`,
      text: 'The event loop lags, because this or another process keeps the CPU busy. More workers or hosts help.',
    },
  ];
  return troubles.filter((trouble) => trouble !== false).toSorted((a, b) => a.tone.localeCompare(b.tone, 'en'));
}

function listOf(names: readonly string[]): string {
  return new Intl.ListFormat('en-US').format(new Set(names));
}
