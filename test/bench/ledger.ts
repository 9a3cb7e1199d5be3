/** Use of CPU by one thread, or by a group of threads. */
export interface ThreadUse {
  readonly process: string;
  readonly group: string;
  readonly micros: number;
  /** Hundredths of a second: they only tell how the microseconds are divided. */
  readonly userTicks: number;
  readonly kernelTicks: number;
  /** How often it has waited: each wait ends with a wake-up. */
  readonly wakeUps: number;
}

export interface Snapshot {
  readonly threads: ReadonlyMap<number, ThreadUse>;
  /**
   * CPU of the same processes as the kernel sums it up itself, threads and children that have ended
   * included. In hundredths of a second.
   */
  readonly kernelsMicros: number;
}

/** Use of CPU by all groups, for some requests. */
export interface Ledger {
  readonly uses: readonly ThreadUse[];
  readonly kernelsMicros: number;
}

/** Group of what children have used until they ended. */
export const ENDED = 'ended children';

/**
 * A child that ended meanwhile, such as a backend of PostgreSQL whose connection was idle, is in
 * the sum of the ended ones with its whole life: what it had used before is taken off there.
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

/** Part of the microseconds that the kernel itself took, such as for sockets. */
export function kernelMicros({ micros, userTicks, kernelTicks }: ThreadUse): number {
  const ticks = userTicks + kernelTicks;
  return ticks === 0 ? 0 : (micros * kernelTicks) / ticks;
}

export function totalMicros({ uses }: Ledger): number {
  return uses.reduce((sum, { micros }) => sum + micros, 0);
}

/** Below it the kernel's own sum is too coarse to judge by. */
const LEAST_JUDGED_MICROS = 1_000_000;
const MOST_DIFFERENCE = 0.05;

/** True unless the groups together differ from the kernel's own sum by more than 5 %. */
export function addsUp(ledger: Ledger): boolean {
  const whole = ledger.kernelsMicros;
  return whole < LEAST_JUDGED_MICROS || Math.abs(totalMicros(ledger) - whole) <= whole * MOST_DIFFERENCE;
}
