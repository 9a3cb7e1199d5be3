/** One request of a key, as its client saw it. Times are those of `performance.now()`. */
export interface Asked {
  readonly key: string;
  readonly beganMs: number;
  readonly endedMs: number;
  /** `200`, or status and code, such as `401 key_revoked`. */
  readonly outcome: string;
}

/** What a key is answered between two changes of it. */
export interface Phase {
  readonly key: string;
  /** The change that begins it, for people. */
  readonly change: string;
  /** When the command had answered. */
  readonly fromMs: number;
  /** When the next command was given; for ever after a revocation. */
  readonly untilMs: number;
  /** The outcome that shows the state from before the change. */
  readonly stale: string;
}

/**
 * Requests that were answered as before a change, though they began after its command had answered.
 * Those that ended after the next command may be answered either way. `shiftMs` judges as if every
 * command had answered so much earlier: with enough of it, requests are found.
 */
export function staleAnswers(asked: readonly Asked[], phases: readonly Phase[], shiftMs = 0): string[] {
  const phasesOf = Map.groupBy(phases, ({ key }) => key);
  return asked.flatMap(({ key, beganMs, endedMs, outcome }) =>
    (phasesOf.get(key) ?? [])
      .filter((phase) => beganMs >= phase.fromMs - shiftMs && endedMs <= phase.untilMs && outcome === phase.stale)
      .map(
        (phase) => `${outcome} to a request that began ${Math.round(beganMs - phase.fromMs)} ms after: ${phase.change}`,
      ),
  );
}
