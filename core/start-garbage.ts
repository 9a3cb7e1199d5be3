/**
 * Collects what a start has left behind: V8 collects when a program allocates, and one that waits
 * for requests allocates next to nothing, so the garbage and an emptied young generation would stay
 * for minutes (docs/performance.md, "Memory"). Call it once the process serves and its compiled
 * code is in the cache. The inspector's session is inside of the process and opens no port. V8's
 * own `gc()` needs an option that makes the compile cache worthless.
 */
export async function collectStartGarbage(): Promise<void> {
  const { Session } = await import('node:inspector/promises');
  const session = new Session();
  session.connect();
  await session.post('HeapProfiler.collectGarbage');
  session.disconnect();
}
