import { setTimeout as sleep } from 'node:timers/promises';
import { MINUTE_MS } from '../../core/clock.ts';
import type { Log } from '../../core/log/log.ts';
import { backOffMs } from '../../core/retry/back-off.ts';
import type { LeftOutRequests, LeftOutStore, RequestLogEntry } from '../../database/request-log/request-log.ts';

export interface LeftOutOptions {
  readonly store: LeftOutStore;
  readonly log: Pick<Log, 'warn'>;
  /** Called for requests that could not even be counted. */
  readonly onDropped: (requests: number) => void;
  readonly everyMs?: number;
}

const EVERY_MS = 1_000;
const LONGEST_PAUSE_MS = 10_000;
/** Most kinds of requests that wait to be written; a kind takes some 500 bytes. */
const MOST_KINDS = 10_000;
const BATCH = 500;

interface Kind {
  counted: LeftOutRequests;
  /** As the store has it. */
  written: number;
}

/**
 * Counts refused requests that have no line in the request log, by kind and minute, and writes the counts beside the requests. Each is a sum since
 * the minute began, so that writing one again changes nothing.
 */
export class LeftOutCounts {
  readonly #options: LeftOutOptions;
  readonly #kinds = new Map<string, Kind>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  /** In a row. */
  #failures = 0;

  constructor(options: LeftOutOptions) {
    this.#options = options;
  }

  add(entry: RequestLogEntry, nowMs: number): void {
    const { organizationId, keyId, status, arrivedAtMs, address } = entry;
    const minute = Math.floor(nowMs / MINUTE_MS);
    const model = entry.modelKnown ? (entry.model ?? '') : '';
    const code = entry.code ?? '';
    const id = `${keyId} ${minute} ${status} ${code} ${model}`;
    const kind = this.#kinds.get(id);
    if (kind === undefined && this.#kinds.size >= MOST_KINDS) {
      this.#options.onDropped(1);
      return;
    }
    const requests = (kind?.counted.requests ?? 0) + 1;
    const counted = { organizationId, keyId, minute, model, code, status, requests, lastAtMs: arrivedAtMs, address };
    this.#kinds.set(id, { counted, written: kind?.written ?? 0 });
    this.#timer ??= this.#schedule();
  }

  #schedule(): NodeJS.Timeout {
    const { everyMs = EVERY_MS } = this.#options;
    const timer = setTimeout(
      () => void this.#write(),
      backOffMs(this.#failures + 1, { firstMs: everyMs, longestMs: LONGEST_PAUSE_MS }),
    );
    timer.unref();
    return timer;
  }

  #write(): Promise<void> {
    this.#writing ??= this.#writeBatch().finally(() => {
      this.#writing = undefined;
      clearTimeout(this.#timer);
      this.#timer = this.#kinds.size > 0 ? this.#schedule() : undefined;
    });
    return this.#writing;
  }

  async #writeBatch(): Promise<void> {
    const due = [...this.#kinds]
      .filter(([, { counted, written }]) => counted.requests > written)
      .slice(0, BATCH)
      .map(([id, { counted }]) => ({ id, counted }));
    try {
      if (due.length > 0) await this.#options.store.write(due.map(({ counted }) => counted));
      this.#failures = 0;
    } catch (error) {
      if (this.#failures === 0)
        this.#options.log.warn({ err: error }, 'counts of refused requests cannot be written now');
      this.#failures += 1;
      return;
    }
    for (const { id, counted } of due) {
      const kind = this.#kinds.get(id);
      if (kind) kind.written = counted.requests;
    }
    this.#forget(Math.floor(Date.now() / MINUTE_MS));
  }

  /** Forgets counts that are written and will not grow any more. */
  #forget(minute: number): void {
    for (const [id, { counted, written }] of this.#kinds) {
      if (counted.minute < minute - 1 && counted.requests === written) this.#kinds.delete(id);
    }
  }

  /** Writes what is waiting, and ends; what is not written by the deadline is lost. */
  async close(withinMs: number): Promise<void> {
    const deadlineMs = performance.now() + withinMs;
    const isWaiting = () => [...this.#kinds.values()].some(({ counted, written }) => counted.requests > written);
    while (isWaiting() && performance.now() < deadlineMs) {
      await this.#write();
      if (this.#failures > 0) await sleep(100);
    }
    clearTimeout(this.#timer);
  }
}
