export interface ServerClock {
  /** Median of several calls. */
  readonly latencyMs: number;
  /** Lead of the server's clock over ours, and its uncertainty because of the network. */
  readonly clockAheadMs: number;
  readonly clockUncertaintyMs: number;
}

const CALLS = 5;

/** `readMs` reads the server's time, in Unix milliseconds. The fastest call is the most exact. */
export async function compareClocks(readMs: () => Promise<number>): Promise<ServerClock> {
  const calls: { tookMs: number; aheadMs: number }[] = [];
  for (let i = 0; i < CALLS; i++) {
    const startedMs = performance.now();
    const before = Date.now();
    const serverMs = await readMs();
    const tookMs = performance.now() - startedMs;
    calls.push({ tookMs, aheadMs: serverMs - before - tookMs / 2 });
  }
  calls.sort((a, b) => a.tookMs - b.tookMs);
  const [fastest] = calls;
  return {
    latencyMs: calls[Math.floor(CALLS / 2)]?.tookMs ?? 0,
    clockAheadMs: fastest?.aheadMs ?? 0,
    clockUncertaintyMs: (fastest?.tookMs ?? 0) / 2,
  };
}
