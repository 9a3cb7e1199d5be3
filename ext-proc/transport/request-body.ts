import type { BorrowedBytes } from '#packages/http2-server/borrowed-bytes.ts';
import { GrowingBytes } from '../fairness/growing-bytes.ts';
import type { Evictable, MemoryReservation, SharedBudget } from '../fairness/shared-budget.ts';
import type { BodyBounds, BodyResult } from './exchange.ts';
import type { Upload, UploadPlaces } from './upload-places.ts';

/** An upload makes progress when it has grown by this: 1 KiB/s over ten seconds. */
const STEP_BYTES = 10 * 1024;

/** Shared by all bodies of a process. */
export interface BodyRoom {
  readonly budget: SharedBudget;
  readonly places: UploadPlaces;
}

export interface RequestSize {
  /** The content-length in bytes, or 0 without one. */
  readonly declaredBytes: number;
  /** Memory of the request without its body. It counts while the upload is unfinished. */
  readonly besideBytes: number;
}

/**
 * Collects one request body. Bytes that arrive before `read` are kept and counted, and the source
 * is paused after them, so that the client keeps the rest of the upload. A body above a bound is
 * dropped at once, and so are all further bytes.
 */
export class RequestBody implements Evictable, Upload {
  /** Memory of the bytes so far. The body is evictable until its reader has all of it. */
  readonly reservation: MemoryReservation;
  readonly #places: UploadPlaces;
  readonly #size: RequestSize;
  readonly #bytes: GrowingBytes;
  #length = 0;
  /** Present once further bytes are dropped. */
  #outcome: BodyResult | undefined;
  #reading: { readonly bounds: BodyBounds; readonly resolve: (result: BodyResult) => void } | undefined;
  /** Fires at the earlier of both time limits, as they were when it was set. */
  #timer: NodeJS.Timeout | undefined;
  #progressedMs = 0;
  #readUntilMs = 0;

  constructor({ budget, places }: BodyRoom, size: RequestSize) {
    this.reservation = budget.open();
    this.reservation.makeEvictable(this);
    this.#places = places;
    this.#size = size;
    this.#bytes = new GrowingBytes(size.declaredBytes);
  }

  /** False while bytes would pile up: there is no reader, and they may not be dropped yet. */
  get wantsMore(): boolean {
    return this.#reading !== undefined || this.#outcome !== undefined;
  }

  /** Appends the bytes from `start` to before `end`. */
  push(bytes: BorrowedBytes, start: number, end: number): void {
    if (this.#outcome !== undefined || start === end) return;
    const bounds = this.#reading?.bounds;
    const length = this.#length + end - start;
    if (bounds !== undefined && length > bounds.limitBytes) {
      this.#settle({ kind: 'too_large' });
      return;
    }
    if (Math.floor(length / STEP_BYTES) > Math.floor(this.#length / STEP_BYTES)) this.#progressed();
    if (!this.reservation.take(end - start)) {
      this.evict();
      return;
    }
    this.#length = length;
    this.#bytes.append(bytes, start, end);
  }

  /** Called when the body has ended: by the last chunk, the trailers, or because there is none. */
  finish(): void {
    if (this.#outcome !== undefined) return;
    this.reservation.shrinkTo(this.#length);
    if (this.#reading !== undefined && !this.reservation.pin()) this.evict();
    else this.#settle({ kind: 'complete', bytes: this.#bytes.take() });
  }

  /** Evicts the body: memory is full or the process ends. One that its reader has stays. */
  evict(): void {
    if (this.#outcome === undefined) this.#settle({ kind: 'no_memory' });
    else if (this.#outcome.kind === 'complete') this.#outcome = { kind: 'no_memory' };
  }

  /** Ends the upload, because the process has no room for it any more. */
  giveWay(): void {
    this.#settle({ kind: 'timeout' });
  }

  /** Refuses a body that has not arrived whole, because the process ends. */
  end(): void {
    if (this.#outcome === undefined) this.evict();
  }

  /** Drops further bytes: the client left or has its response. Complete bodies stay. */
  abandon(): void {
    if (this.#outcome === undefined) this.#settle({ kind: 'gone' });
  }

  /** Reads the body, once. The bytes of a complete body belong to the reader. */
  read(bounds: BodyBounds): Promise<BodyResult> {
    const known = this.#known(bounds);
    if (known !== undefined) return Promise.resolve(this.#handOver(known));
    if (!this.#places.enter(this, bounds)) return Promise.resolve(this.#handOver({ kind: 'too_many' }));
    return new Promise((resolve) => {
      this.#reading = { bounds, resolve };
      this.#progressedMs = performance.now();
      this.#readUntilMs = this.#progressedMs + bounds.totalMs;
      this.#watch(bounds.stallMs);
      if (!this.reservation.take(this.#size.besideBytes)) this.evict();
    });
  }

  #progressed(): void {
    this.reservation.progressed();
    if (this.#reading === undefined) return;
    this.#places.progressed(this, this.#reading.bounds.organizationId);
    this.#progressedMs = performance.now();
  }

  /** Drops the bytes, which are no longer used. */
  discard(): void {
    if (this.#outcome === undefined) this.#settle({ kind: 'gone' });
    this.#drop();
  }

  #handOver(known: BodyResult): BodyResult {
    if (known.kind !== 'complete') {
      this.#settle(known);
      return known;
    }
    this.#outcome = HANDED_OVER;
    if (this.reservation.pin()) return known;
    this.#drop();
    return { kind: 'no_memory' };
  }

  #known(bounds: BodyBounds): BodyResult | undefined {
    const tooLarge = this.#size.declaredBytes > bounds.limitBytes || this.#length > bounds.limitBytes;
    if (this.#outcome !== undefined && (this.#outcome.kind !== 'complete' || !tooLarge)) return this.#outcome;
    return tooLarge ? { kind: 'too_large' } : undefined;
  }

  /** Sets one timer, and sets it again only when it fires: most bodies are complete before that. */
  #watch(stallMs: number): void {
    const untilMs = Math.min(this.#progressedMs + stallMs, this.#readUntilMs);
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0) this.#settle({ kind: 'timeout' });
    else this.#timer = setTimeout(() => this.#watch(stallMs), Math.ceil(leftMs));
  }

  #settle(outcome: BodyResult): void {
    const reading = this.#reading;
    this.#outcome = reading !== undefined && outcome.kind === 'complete' ? HANDED_OVER : outcome;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (outcome.kind !== 'complete') this.#drop();
    if (reading !== undefined) this.#places.leave(this, reading.bounds.organizationId);
    this.#reading = undefined;
    reading?.resolve(outcome);
  }

  #drop(): void {
    this.#bytes.free();
    this.reservation.release();
  }
}

/** The outcome of a body that its reader already has. */
const HANDED_OVER: BodyResult = { kind: 'gone' };
