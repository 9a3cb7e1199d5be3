/** Task and result of a load generator: plain data, so that it can run in a process of its own. */
export interface LoadJob {
  /** Origin, such as `http://127.0.0.1:8080`. */
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Requests take them in turn; without them, `headers` says who asks. */
  readonly keys?: readonly string[];
  readonly body: string;
  /** Requests in flight. */
  readonly concurrency: number;
  readonly requests: number;
  /** A good answer holds this text; for a stream take `data: [DONE]`. */
  readonly mustContain: string;
  /**
   * Time between the starts of the first `concurrency` requests, so that a crowd does not arrive in
   * one instant.
   */
  readonly rampMs?: number;
  readonly timeoutMs?: number;
}

export interface LoadResult {
  readonly good: number;
  /** How often each fault was seen: a status with its code, a broken answer, a socket error. */
  readonly faults: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly latencyMs: Percentiles;
  readonly firstByteMs: Percentiles;
}

export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export function percentiles(values: readonly number[]): Percentiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
