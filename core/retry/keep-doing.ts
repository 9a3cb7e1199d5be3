/**
 * Does work at intervals until the returned function is called. A run that takes longer than the
 * interval delays the next one. Failures of a run that is cut off by the end are not reported.
 */
export function keepDoing(
  everyMs: number,
  work: () => Promise<unknown>,
  onFailure: (error: unknown) => void,
  begins: 'now' | 'after an interval' = 'now',
): () => void {
  let [isRunning, hasEnded] = [false, false];
  const run = (): void => {
    if (isRunning) return;
    isRunning = true;
    work()
      .catch((error: unknown) => hasEnded || onFailure(error))
      .finally(() => {
        isRunning = false;
      });
  };
  const timer = setInterval(run, everyMs);
  timer.unref();
  if (begins === 'now') run();
  return () => {
    hasEnded = true;
    clearInterval(timer);
  };
}
