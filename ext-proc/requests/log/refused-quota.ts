import { MINUTE_MS } from '#core/clock.ts';
import type { Log } from '#core/log/log.ts';

/** The sender of a request that was refused. */
export interface RefusedCaller {
  /** Absent: the key or the route does not exist. All such requests share one count. */
  readonly key: { readonly id: string; readonly organizationId: string } | undefined;
  /** True if the key is revoked or expired, or its organization suspended. */
  readonly isUnusable: boolean;
}

/** Rows of a key in a UTC minute, from all processes of a supervisor together. */
const MOST_ROWS = 100;
const MOST_ROWS_UNUSABLE = 10;
/** Beyond this number of keys with refused requests in one minute, further keys get no row. */
const MOST_KEYS = 10_000;

interface Count {
  readonly key: RefusedCaller['key'];
  written: number;
  omitted: number;
}

/**
 * Bounds the rows of the request log, and the access lines, that refused requests may write.
 * Refused requests cost their sender nothing, even with a revoked key, so without a bound they
 * fill disks. One line of the process log for each key and minute counts those that were omitted.
 */
export class RefusedQuota {
  readonly #log: Pick<Log, 'info'>;
  readonly #share: (most: number) => number;
  #minute = -1;
  #keys = new Map<string, Count>();

  /** `workers` processes write side by side. Each has its share of the bounds. */
  constructor(log: Pick<Log, 'info'>, { workerIndex, workers }: { workerIndex: number; workers: number }) {
    this.#log = log;
    this.#share = (most) => Math.floor(most / workers) + (workerIndex < most % workers ? 1 : 0);
  }

  /** True if this request gets a row and an access line. */
  take({ key, isUnusable }: RefusedCaller, nowMs: number): boolean {
    this.report(nowMs);
    const count = this.#countOf(key);
    if (count.written < this.#share(isUnusable ? MOST_ROWS_UNUSABLE : MOST_ROWS)) {
      count.written += 1;
      return true;
    }
    count.omitted += 1;
    return false;
  }

  /** Logs how many were omitted, once their minute is over. */
  report(nowMs: number): void {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute === this.#minute) return;
    for (const { key, omitted } of this.#keys.values()) {
      if (omitted === 0) continue;
      const minuteBegan = new Date(this.#minute * MINUTE_MS).toISOString();
      const caller = { organization: key?.organizationId, key: key?.id };
      this.#log.info({ ...caller, lines: omitted, minute: minuteBegan }, 'lines of refused requests were left out');
    }
    this.#minute = minute;
    this.#keys = new Map();
  }

  #countOf(key: RefusedCaller['key']): Count {
    const id = key?.id ?? '';
    const known = this.#keys.get(id);
    if (known) return known;
    if (this.#keys.size >= MOST_KEYS) return { key, written: MOST_ROWS, omitted: 0 };
    const count = { key, written: 0, omitted: 0 };
    this.#keys.set(id, count);
    return count;
  }
}
