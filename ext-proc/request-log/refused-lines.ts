import { MINUTE_MS } from '../../core/clock.ts';
import type { Log } from '../../core/log/log.ts';

/** The sender of a request that was refused. */
export interface RefusedCaller {
  /** Absent: no key that exists. All of those share one count. */
  readonly key: { readonly id: string; readonly organizationId: string } | undefined;
  /** The key is revoked or expired, or its organization suspended. */
  readonly isUnusable: boolean;
}

/** In a UTC minute, by key, of all processes that a supervisor has. */
const MOST_LINES = 100;
const MOST_LINES_UNUSABLE = 10;
/** Beyond so many keys with refused requests in one minute none gets a line. */
const MOST_KEYS = 10_000;

interface Lines {
  readonly key: RefusedCaller['key'];
  written: number;
  leftOut: number;
}

/**
 * How many lines refused requests may write, in the process's log and in the request log alike. They cost their sender nothing, also one whose
 * key was revoked, so that without a bound they fill disks. How many were left out is one line for each key and minute.
 */
export class RefusedLines {
  readonly #log: Pick<Log, 'info'>;
  readonly #share: (most: number) => number;
  #minute = -1;
  #keys = new Map<string, Lines>();

  /** `workers`: that write side by side; each has its part. */
  constructor(log: Pick<Log, 'info'>, { workerIndex, workers }: { workerIndex: number; workers: number }) {
    this.#log = log;
    this.#share = (most) => Math.floor(most / workers) + (workerIndex < most % workers ? 1 : 0);
  }

  /** True: this line is written. */
  take({ key, isUnusable }: RefusedCaller, nowMs: number): boolean {
    this.tell(nowMs);
    const lines = this.#linesOf(key);
    if (lines.written < this.#share(isUnusable ? MOST_LINES_UNUSABLE : MOST_LINES)) {
      lines.written += 1;
      return true;
    }
    lines.leftOut += 1;
    return false;
  }

  /** Says how many were left out, once their minute is over. */
  tell(nowMs: number): void {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute === this.#minute) return;
    for (const { key, leftOut } of this.#keys.values()) {
      if (leftOut === 0) continue;
      const minuteBegan = new Date(this.#minute * MINUTE_MS).toISOString();
      const caller = { organization: key?.organizationId, key: key?.id };
      this.#log.info({ ...caller, lines: leftOut, minute: minuteBegan }, 'lines of refused requests were left out');
    }
    this.#minute = minute;
    this.#keys = new Map();
  }

  #linesOf(key: RefusedCaller['key']): Lines {
    const id = key?.id ?? '';
    const known = this.#keys.get(id);
    if (known) return known;
    if (this.#keys.size >= MOST_KEYS) return { key, written: MOST_LINES, leftOut: 0 };
    const lines = { key, written: 0, leftOut: 0 };
    this.#keys.set(id, lines);
    return lines;
  }
}
