import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../log/log.ts';
import { backOffMs } from '../retry/back-off.ts';

export interface BufferedWriterOptions<Item> {
  /**
   * Writes a batch. Resolves when the batch is settled, whatever happened to its items. Rejects if
   * it has to be written again unchanged, for example because the result is unknown. `stop` is
   * aborted when the time to close is over.
   */
  readonly write: (batch: readonly Item[], stop: AbortSignal) => Promise<void>;
  readonly bounds: BufferBounds;
  /** The part of the capacity and of a batch that an item takes. 1 by default. */
  readonly sizeOf?: (item: Item) => number;
  /** Called with the size of items that are never written. */
  readonly onDropped: (reason: DropReason, size: number) => void;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  readonly messages: BufferMessages;
}

export interface BufferBounds {
  /** Most size of all items, with the batch in flight. Beyond it the newest are dropped. */
  readonly capacity: number;
  /** Size of a batch. Its last item may exceed it. */
  readonly batch: number;
  /** Longest wait for a batch to fill, in ms. */
  readonly everyMs: number;
  readonly firstRetryMs: number;
  readonly longestRetryMs: number;
}

/** `closed`: added after the end. `unsent`: the time to close was over. */
export type DropReason = 'full' | 'closed' | 'unsent';

/** Messages of the process log. */
export interface BufferMessages {
  /** The first of several failures in a row. */
  readonly failing: string;
  /** The first success after failures. */
  readonly recovered: string;
  /** The first item that was dropped because the buffer is full. */
  readonly full: string;
  /** Items were still waiting when the time to close was over. */
  readonly lost: string;
}

/** Writes items in batches, one at a time, in the background: no request waits or fails for it. */
export class BufferedWriter<Item> {
  readonly #options: BufferedWriterOptions<Item>;
  readonly #sizeOf: (item: Item) => number;
  #fresh: Item[] = [];
  /** The batch is retried unchanged until it is settled, because a result may be lost. */
  #inFlight: readonly Item[] = [];
  #freshSize = 0;
  #inFlightSize = 0;
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Failed writes in a row. */
  #failures = 0;
  /** The time of the last settled batch, or of the first item that waits. */
  #stalledSinceMs = 0;
  #isFull = false;
  #isClosed = false;
  readonly #stop = new AbortController();

  constructor(options: BufferedWriterOptions<Item>) {
    this.#options = options;
    this.#sizeOf = options.sizeOf ?? (() => 1);
  }

  /** Size of the items that are not written yet. */
  waiting(): number {
    return this.#freshSize + this.#inFlightSize;
  }

  /** How long items have been waiting without any being written, in ms. */
  stalledMs(): number {
    return this.waiting() === 0 ? 0 : performance.now() - this.#stalledSinceMs;
  }

  /** Adds an item, or drops it when too many wait. Never throws. */
  add(item: Item): void {
    const { bounds, onDropped } = this.#options;
    const size = this.#sizeOf(item);
    if (this.#isClosed) {
      onDropped('closed', size);
      return;
    }
    if (this.waiting() + size > bounds.capacity) {
      this.#refuse(size);
      return;
    }
    if (this.waiting() === 0) this.#stalledSinceMs = performance.now();
    const wasFull = this.#freshSize >= bounds.batch;
    this.#fresh.push(item);
    this.#freshSize += size;
    const isFull = this.#freshSize >= bounds.batch;
    if (isFull && !wasFull && this.#failures === 0) this.#schedule(0);
    else if (this.#timer === undefined) this.#schedule(bounds.everyMs);
  }

  #refuse(size: number): void {
    const { log, messages, onDropped } = this.#options;
    onDropped('full', size);
    if (this.#isFull) return;
    this.#isFull = true;
    log.error({ waiting: this.waiting() }, messages.full);
  }

  /** Does nothing while a batch is in flight: its end schedules the next. */
  #schedule(delayMs: number): void {
    if (this.#writing !== undefined) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#write();
    }, delayMs);
    this.#timer.unref();
  }

  #write(): Promise<void> {
    this.#writing ??= this.#writeBatch().finally(() => {
      this.#writing = undefined;
      if (!this.#isClosed && this.waiting() > 0) this.#schedule(this.#pauseMs());
    });
    return this.#writing;
  }

  #pauseMs(): number {
    const { batch, everyMs, firstRetryMs, longestRetryMs } = this.#options.bounds;
    if (this.#failures > 0) return backOffMs(this.#failures, { firstMs: firstRetryMs, longestMs: longestRetryMs });
    return this.#freshSize >= batch ? 0 : everyMs;
  }

  async #writeBatch(): Promise<void> {
    const { bounds, write, log, messages } = this.#options;
    if (this.#inFlight.length === 0) this.#takeBatch();
    try {
      await write(this.#inFlight, this.#stop.signal);
    } catch (error) {
      if (this.#failures === 0) log.warn({ err: error }, messages.failing);
      this.#failures++;
      return;
    }
    this.#inFlight = [];
    this.#inFlightSize = 0;
    this.#stalledSinceMs = performance.now();
    if (this.#failures > 0) log.info({ waiting: this.waiting() }, messages.recovered);
    this.#failures = 0;
    if (this.waiting() < bounds.capacity / 2) this.#isFull = false;
  }

  #takeBatch(): void {
    let items = 0;
    let size = 0;
    for (const item of this.#fresh) {
      if (size >= this.#options.bounds.batch) break;
      size += this.#sizeOf(item);
      items++;
    }
    this.#inFlight = this.#fresh.slice(0, items);
    this.#inFlightSize = size;
    this.#fresh = this.#fresh.slice(items);
    this.#freshSize -= size;
  }

  /** Writes waiting items, and ends. After this time, in ms, the rest is dropped (`false`). */
  async close(withinMs: number): Promise<boolean> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const { signal } = this.#stop;
    const expiry = setTimeout(() => this.#stop.abort(), withinMs);
    await Promise.race([this.#flush(signal), once(signal, 'abort')]);
    clearTimeout(expiry);
    const lost = this.waiting();
    if (lost === 0) return true;
    const { log, messages, onDropped } = this.#options;
    log.error({ lost }, messages.lost);
    onDropped('unsent', lost);
    return false;
  }

  async #flush(stop: AbortSignal): Promise<void> {
    while (this.waiting() > 0 && !stop.aborted) {
      await this.#write();
      if (this.#failures > 0) {
        await sleep(this.#options.bounds.firstRetryMs, undefined, { signal: stop }).catch(() => undefined);
      }
    }
  }
}
