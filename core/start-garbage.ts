/**
 * Collects the garbage of a start. V8 collects when a program allocates, and a process that waits
 * for requests allocates next to nothing, so the garbage and an empty young generation would stay
 * for minutes (docs/performance.md, "Memory"). Called once the process serves and its compiled code
 * is in the cache. The inspector's session is inside the process and opens no port. V8's own `gc()`
 * needs an option that makes the compile cache useless.
 */
export async function collectStartGarbage(): Promise<void> {
  const { Session } = await import('node:inspector/promises');
  const session = new Session();
  session.connect();
  await session.post('HeapProfiler.collectGarbage');
  session.disconnect();
}
