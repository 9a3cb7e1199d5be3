import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestLogEntry, RequestLogStore } from '../stores/request-log.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

/** Takes a line for every request and writes them in batches, beside the requests: none ever waits for it or fails with it. */
export interface RequestLog {
  /** Takes the line, or drops it when too many are waiting. Never throws. */
  add(entry: RequestLogEntry): void;
  /** Lines that are not written yet. */
  waiting(): number;
  /** Of this process, since its start. */
  dropped(): number;
  /** Writes what is waiting, and ends; what is not written by the deadline is lost. */
  close(withinMs: number): Promise<void>;
}

export interface RequestLogOptions {
  readonly store: RequestLogStore;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly bounds?: RequestLogBounds;
}

export interface RequestLogBounds {
  /** Lines in memory, those under way too. A line takes about 1 KB. */
  readonly capacity: number;
  readonly batch: number;
  /** Lines wait this long for company. */
  readonly everyMs: number;
  readonly firstRetryMs: number;
  readonly longestRetryMs: number;
}

const BOUNDS: RequestLogBounds = {
  capacity: 20_000,
  batch: 500,
  everyMs: 500,
  firstRetryMs: 500,
  longestRetryMs: 10_000,
};

export function createRequestLog(options: RequestLogOptions): RequestLog {
  return new BufferedLog(options);
}

class BufferedLog implements RequestLog {
  readonly #store: RequestLogStore;
  readonly #metrics: Metrics;
  readonly #log: Log;
  readonly #bounds: RequestLogBounds;
  #fresh: RequestLogEntry[] = [];
  /** Sent, and unchanged until it is known to be written: a batch whose answer was lost must come again as it was. */
  #underWay: readonly RequestLogEntry[] = [];
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** In a row. */
  #failures = 0;
  #dropped = 0;
  /** When the last batch was written, or the first line came that waits. */
  #stalledSinceMs = 0;
  #isFull = false;
  #isClosed = false;

  constructor({ store, metrics, log, bounds = BOUNDS }: RequestLogOptions) {
    this.#store = store;
    this.#metrics = metrics;
    this.#log = log;
    this.#bounds = bounds;
    metrics.watchRequestLog(
      () => this.waiting(),
      () => (this.waiting() === 0 ? 0 : performance.now() - this.#stalledSinceMs),
    );
  }

  waiting(): number {
    return this.#fresh.length + this.#underWay.length;
  }

  dropped(): number {
    return this.#dropped;
  }

  add(entry: RequestLogEntry): void {
    if (this.#isClosed || this.waiting() >= this.#bounds.capacity) {
      this.#refuse();
      return;
    }
    if (this.waiting() === 0) this.#stalledSinceMs = performance.now();
    this.#fresh.push(entry);
    if (this.#fresh.length === this.#bounds.batch && this.#failures === 0) this.#schedule(0);
    else if (this.#timer === undefined) this.#schedule(this.#bounds.everyMs);
  }

  #refuse(): void {
    this.#drop(1);
    if (this.#isFull) return;
    this.#isFull = true;
    this.#log.error({ waiting: this.waiting() }, 'the request log cannot be written: its newest lines are dropped');
  }

  #drop(lines: number): void {
    this.#dropped += lines;
    this.#metrics.requestLogDropped(lines);
  }

  /** While a batch is under way nothing is scheduled: its end does that. */
  #schedule(delayMs: number): void {
    if (this.#writing !== undefined) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#write();
    }, delayMs);
    this.#timer.unref();
  }

  /** One batch at a time. */
  #write(): Promise<void> {
    this.#writing ??= this.#writeBatch().finally(() => {
      this.#writing = undefined;
      if (!this.#isClosed && this.waiting() > 0) this.#schedule(this.#pauseMs());
    });
    return this.#writing;
  }

  #pauseMs(): number {
    const { batch, everyMs, firstRetryMs, longestRetryMs } = this.#bounds;
    if (this.#failures > 0) return Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(this.#failures - 1, 20));
    return this.#fresh.length >= batch ? 0 : everyMs;
  }

  async #writeBatch(): Promise<void> {
    if (this.#underWay.length === 0) {
      this.#underWay = this.#fresh.slice(0, this.#bounds.batch);
      this.#fresh = this.#fresh.slice(this.#bounds.batch);
    }
    const lines = this.#underWay.length;
    try {
      const { refused } = await this.#store.write(this.#underWay);
      this.#underWay = [];
      this.#stalledSinceMs = performance.now();
      this.#metrics.requestLogWritten(lines - refused);
      if (refused > 0) this.#drop(refused);
      if (this.#failures > 0) {
        this.#log.info({ waiting: this.waiting(), dropped: this.#dropped }, 'the request log is written again');
      }
      this.#failures = 0;
      if (this.waiting() < this.#bounds.capacity / 2) this.#isFull = false;
    } catch (error) {
      if (this.#failures === 0) this.#log.warn({ err: error }, 'the request log cannot be written now: its lines wait');
      this.#failures++;
    }
  }

  async close(withinMs: number): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const deadline = new AbortController();
    const expiry = setTimeout(() => deadline.abort(), withinMs);
    await Promise.race([this.#flush(deadline.signal), once(deadline.signal, 'abort')]);
    clearTimeout(expiry);
    if (this.waiting() === 0) return this.#store.close();
    this.#log.error({ lines: this.waiting() }, 'lines of the request log are lost: the time to end is over');
    this.#drop(this.waiting());
  }

  async #flush(stop: AbortSignal): Promise<void> {
    while (this.waiting() > 0 && !stop.aborted) {
      await this.#write();
      if (this.#failures > 0) {
        await sleep(this.#bounds.firstRetryMs, undefined, { signal: stop }).catch(() => undefined);
      }
    }
  }
}
