/** A request with a key, as its client saw it. Times are of `performance.now()`. */
export interface Asked {
  readonly key: string;
  readonly beganMs: number;
  readonly endedMs: number;
  /** `200`, or status and code, such as `401 key_revoked`. */
  readonly outcome: string;
}

/** The time between two changes of a key. */
export interface Phase {
  readonly key: string;
  /** Readable name of the change that starts the phase. */
  readonly change: string;
  /** When the command of the change returned. */
  readonly fromMs: number;
  /** When the next command started. Infinity after a revocation. */
  readonly untilMs: number;
  /** The outcome that would show the state before the change. */
  readonly stale: string;
}

/**
 * Requests with an outcome of before a change, although they started after its command had
 * returned. Requests that ended after the start of the next command may have either outcome.
 * `shiftMs` moves every return earlier, to check that stale outcomes would be found.
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
