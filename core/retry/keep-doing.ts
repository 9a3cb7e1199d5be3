/**
 * Repeats work until the returned function is called, which resolves when no run is in progress.
 * `pauseMs`: between the end of a run and the next, by the result of that run (none if it failed).
 * A failure after the end is not reported.
 */
export function keepDoing<Result>(
  pauseMs: number | ((result: Result | undefined) => number),
  work: () => Promise<Result>,
  onFailure: (error: unknown) => void,
  begins: 'now' | 'after a pause' = 'now',
): () => Promise<void> {
  let hasEnded = false;
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  const pause = (result: Result | undefined): void => {
    if (hasEnded) return;
    const delayMs = typeof pauseMs === 'number' ? pauseMs : pauseMs(result);
    timer = setTimeout(() => {
      running = run();
    }, delayMs).unref();
  };
  const run = (): Promise<void> =>
    work()
      .catch((error: unknown) => {
        if (!hasEnded) onFailure(error);
        return undefined;
      })
      .then(pause);
  if (begins === 'now') running = run();
  else pause(undefined);
  return () => {
    hasEnded = true;
    clearTimeout(timer);
    return running;
  };
}
