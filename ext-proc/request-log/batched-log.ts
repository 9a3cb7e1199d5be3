import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../core/log/log.ts';
import { backOffMs } from '../../core/retry/back-off.ts';

/** Where lines go. */
export interface BatchStore<Line> {
  /** As RequestLogStore.write(). */
  write(batch: readonly Line[]): Promise<{ readonly refused: number }>;
  close(): Promise<void>;
}

export interface BatchedLogOptions<Line> {
  /** For messages: `the request log`. */
  readonly name: string;
  readonly store: BatchStore<Line>;
  readonly log: Log;
  readonly bounds: BatchedLogBounds;
  readonly onWritten: (lines: number) => void;
  readonly onDropped: (lines: number) => void;
}

export interface BatchedLogBounds {
  /** Lines in memory, those under way too. A line takes about 1 KB. */
  readonly capacity: number;
  readonly batch: number;
  /** Lines wait this long for company. */
  readonly everyMs: number;
  readonly firstRetryMs: number;
  readonly longestRetryMs: number;
}

/** Lines that are written in batches, beside the requests: none ever waits for it or fails with it. */
export class BatchedLog<Line> {
  readonly #name: string;
  readonly #store: BatchStore<Line>;
  readonly #log: Log;
  readonly #bounds: BatchedLogBounds;
  readonly #onWritten: (lines: number) => void;
  readonly #onDropped: (lines: number) => void;
  #fresh: Line[] = [];
  /** Sent, and unchanged until it is known to be written: a batch whose answer was lost must come again as it was. */
  #underWay: readonly Line[] = [];
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** In a row. */
  #failures = 0;
  #dropped = 0;
  /** When the last batch was written, or the first line came that waits. */
  #stalledSinceMs = 0;
  #isFull = false;
  #isClosed = false;

  constructor({ name, store, log, bounds, onWritten, onDropped }: BatchedLogOptions<Line>) {
    this.#name = name;
    this.#store = store;
    this.#log = log;
    this.#bounds = bounds;
    this.#onWritten = onWritten;
    this.#onDropped = onDropped;
  }

  /** Lines that are not written yet. */
  waiting(): number {
    return this.#fresh.length + this.#underWay.length;
  }

  /** Of this process, since its start. */
  dropped(): number {
    return this.#dropped;
  }

  /** For how long lines have been waiting without any being written. */
  stalledMs(): number {
    return this.waiting() === 0 ? 0 : performance.now() - this.#stalledSinceMs;
  }

  /** Takes the line, or drops it when too many are waiting. Never throws. */
  add(line: Line): void {
    if (this.#isClosed || this.waiting() >= this.#bounds.capacity) {
      this.#refuse();
      return;
    }
    if (this.waiting() === 0) this.#stalledSinceMs = performance.now();
    this.#fresh.push(line);
    if (this.#fresh.length === this.#bounds.batch && this.#failures === 0) this.#schedule(0);
    else if (this.#timer === undefined) this.#schedule(this.#bounds.everyMs);
  }

  #refuse(): void {
    this.#drop(1);
    if (this.#isFull) return;
    this.#isFull = true;
    this.#log.error({ waiting: this.waiting() }, `${this.#name} cannot be written: its newest lines are dropped`);
  }

  #drop(lines: number): void {
    this.#dropped += lines;
    this.#onDropped(lines);
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
    if (this.#failures > 0) return backOffMs(this.#failures, { firstMs: firstRetryMs, longestMs: longestRetryMs });
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
      this.#onWritten(lines - refused);
      if (refused > 0) this.#drop(refused);
      if (this.#failures > 0) {
        this.#log.info({ waiting: this.waiting(), dropped: this.#dropped }, `${this.#name} is written again`);
      }
      this.#failures = 0;
      if (this.waiting() < this.#bounds.capacity / 2) this.#isFull = false;
    } catch (error) {
      if (this.#failures === 0) this.#log.warn({ err: error }, `${this.#name} cannot be written now: its lines wait`);
      this.#failures++;
    }
  }

  /** Writes what is waiting, and ends; what is not written by the deadline is lost. */
  async close(withinMs: number): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const deadline = new AbortController();
    const expiry = setTimeout(() => deadline.abort(), withinMs);
    await Promise.race([this.#flush(deadline.signal), once(deadline.signal, 'abort')]);
    clearTimeout(expiry);
    if (this.waiting() === 0) return this.#store.close();
    this.#log.error({ lines: this.waiting() }, `lines of ${this.#name} are lost: the time to end is over`);
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
