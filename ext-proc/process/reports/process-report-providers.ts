import type { Clock } from '#core/clock.ts';
import type { ProviderHealth } from '#database/process-reports/report.ts';
import type { Attempt } from '../../hold/attempt.ts';

/**
 * Attempts and failures of each provider in the last five minutes. They are counted in slices of
 * time, so that a busy provider takes no more memory than an idle one.
 */
export interface ProviderLog {
  note(attempts: readonly Attempt[]): void;
  /** Health of every named provider, and of every other one that was called. */
  health(names: Iterable<string>): Map<string, Omit<ProviderHealth, 'ejected' | 'restingTargets'>>;
}

const SLICE_MS = 10_000;
const SLICES = 30;

/** Results that are not the provider's failure: success, no call, cancelled, rightly refused. */
const NOT_ITS_FAILURE: ReadonlySet<string> = new Set([
  'ok',
  'abandoned',
  'process_ends',
  'no_room',
  'unsendable',
  'egress_unreachable',
  'status_400',
  'status_422',
]);

interface Slice {
  /** Number of the time slice that it counts; an older one is reused. */
  number: number;
  attempts: number;
  failures: number;
}

interface Tally {
  readonly slices: Slice[];
  lastFailure: ProviderHealth['lastFailure'];
  lastAskedMs: number;
}

/** Counts in monotonic time. Only `lastFailure` has the time of the wall clock. */
export function createProviderLog(clock: Clock): ProviderLog {
  const tallies = new Map<string, Tally>();

  function noteOne({ provider, result, account }: Attempt): void {
    const nowMs = clock.monotonicMs();
    const tally = tallies.get(provider) ?? newTally();
    tallies.set(provider, tally);
    const number = Math.floor(nowMs / SLICE_MS);
    const slice = tally.slices[number % SLICES];
    if (slice === undefined) throw new RangeError(`no slice for ${nowMs}`);
    if (slice.number !== number) Object.assign(slice, { number, attempts: 0, failures: 0 });
    slice.attempts += 1;
    tally.lastAskedMs = nowMs;
    if (NOT_ITS_FAILURE.has(result)) return;
    slice.failures += 1;
    tally.lastFailure = { result, atMs: clock.nowMs(), ...(account === undefined ? {} : { account }) };
  }

  return {
    note(attempts) {
      for (const attempt of attempts) noteOne(attempt);
    },
    health(names) {
      const nowMs = clock.monotonicMs();
      // Providers of former configurations are dropped when they are no longer called.
      for (const [name, { lastAskedMs }] of tallies) if (lastAskedMs <= nowMs - SLICES * SLICE_MS) tallies.delete(name);
      const found = new Map<string, Omit<ProviderHealth, 'ejected' | 'restingTargets'>>();
      for (const name of new Set([...names, ...tallies.keys()])) found.set(name, sum(tallies.get(name), nowMs));
      return found;
    },
  };
}

function newTally(): Tally {
  const slices = Array.from({ length: SLICES }, () => ({ number: -1, attempts: 0, failures: 0 }));
  return { slices, lastFailure: null, lastAskedMs: 0 };
}

function sum(tally: Tally | undefined, nowMs: number): Omit<ProviderHealth, 'ejected' | 'restingTargets'> {
  const oldest = Math.floor(nowMs / SLICE_MS) - SLICES + 1;
  let attempts = 0;
  let failures = 0;
  for (const slice of tally?.slices ?? []) {
    if (slice.number < oldest) continue;
    attempts += slice.attempts;
    failures += slice.failures;
  }
  return { attempts, failures, lastFailure: failures > 0 ? (tally?.lastFailure ?? null) : null };
}
