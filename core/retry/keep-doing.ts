/**
 * Does work at intervals until the returned function is called. No run begins while another one
 * lasts. A failure after the end is not reported.
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
