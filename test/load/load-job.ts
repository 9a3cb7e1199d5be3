/**
 * Job and result of a load generator. They are plain data, so that it can run in its own process.
 */
export interface LoadJob {
  /** Origin, such as `http://127.0.0.1:8080`. */
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** API keys that requests use in turn. Default: the key in `headers`. */
  readonly keys?: readonly string[];
  readonly body: string;
  /** Requests in flight. */
  readonly concurrency: number;
  readonly requests: number;
  /** Text that a good response contains. For a stream use `data: [DONE]`. */
  readonly mustContain: string;
  /**
   * Time between the starts of the first `concurrency` requests, which then do not arrive at once.
   */
  readonly rampMs?: number;
  readonly timeoutMs?: number;
}

export interface LoadResult {
  readonly good: number;
  /** Number of each fault: a status with its code, a broken response, a socket error. */
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
