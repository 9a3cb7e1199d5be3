/** CPU use of a thread or of a group of threads. */
export interface ThreadUse {
  readonly process: string;
  readonly group: string;
  readonly micros: number;
  /** Hundredths of a second, which only tell how `micros` is divided. */
  readonly userTicks: number;
  readonly kernelTicks: number;
  /** Number of voluntary waits, each of which ends with a wake-up. */
  readonly wakeUps: number;
}

export interface Snapshot {
  readonly threads: ReadonlyMap<number, ThreadUse>;
  /**
   * The kernel's own sum for the same processes, ended threads and children included. Its
   * resolution is a hundredth of a second.
   */
  readonly kernelsMicros: number;
}

/** CPU use of all groups during a number of requests. */
export interface Ledger {
  readonly uses: readonly ThreadUse[];
  readonly kernelsMicros: number;
}

/** Group of the CPU time of ended children. */
export const ENDED = 'ended children';

/**
 * The sum of ended children contains the whole life of a child that ended in between, such as an
 * idle PostgreSQL backend. What that child had used before the first snapshot is subtracted.
 */
export function ledgerBetween(before: Snapshot, after: Snapshot): Ledger {
  const uses = [...after.threads].map(([thread, use]) => {
    const former = before.threads.get(thread);
    return former === undefined ? use : combined(use, former, -1);
  });
  const ended = [...before.threads]
    .filter(([thread]) => !after.threads.has(thread))
    .map(([, former]) => combined({ ...former, ...NOTHING, group: ENDED }, { ...former, wakeUps: 0 }, -1));
  return { uses: byGroup([...uses, ...ended]), kernelsMicros: after.kernelsMicros - before.kernelsMicros };
}

const NOTHING = { micros: 0, userTicks: 0, kernelTicks: 0, wakeUps: 0 };

export function sumOf(ledgers: readonly Ledger[]): Ledger {
  return {
    uses: byGroup(ledgers.flatMap(({ uses }) => uses)),
    kernelsMicros: ledgers.reduce((sum, { kernelsMicros }) => sum + kernelsMicros, 0),
  };
}

function byGroup(uses: readonly ThreadUse[]): ThreadUse[] {
  const groups = Map.groupBy(uses, ({ process, group }) => `${process}\n${group}`);
  return [...groups.values()].map((members) => members.reduce((sum, use) => combined(sum, use, 1)));
}

function combined(one: ThreadUse, other: ThreadUse, sign: 1 | -1): ThreadUse {
  return {
    ...one,
    micros: one.micros + sign * other.micros,
    userTicks: one.userTicks + sign * other.userTicks,
    kernelTicks: one.kernelTicks + sign * other.kernelTicks,
    wakeUps: one.wakeUps + sign * other.wakeUps,
  };
}

/** Part of the microseconds that was spent in the kernel, such as for sockets. */
export function kernelMicros({ micros, userTicks, kernelTicks }: ThreadUse): number {
  const ticks = userTicks + kernelTicks;
  return ticks === 0 ? 0 : (micros * kernelTicks) / ticks;
}

export function totalMicros({ uses }: Ledger): number {
  return uses.reduce((sum, { micros }) => sum + micros, 0);
}

/** Below this the kernel's own sum is too coarse for a comparison. */
const LEAST_JUDGED_MICROS = 1_000_000;
const MOST_DIFFERENCE = 0.05;

/** True unless the sum of the groups differs from the kernel's own sum by more than 5 %. */
export function addsUp(ledger: Ledger): boolean {
  const whole = ledger.kernelsMicros;
  return whole < LEAST_JUDGED_MICROS || Math.abs(totalMicros(ledger) - whole) <= whole * MOST_DIFFERENCE;
}
