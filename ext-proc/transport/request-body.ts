import type { BorrowedBytes } from '../../packages/http2-server/borrowed-bytes.ts';
import { GrowingBytes } from '../shared-budget/growing-bytes.ts';
import type { Room, SharedBudget, Yielding } from '../shared-budget/shared-budget.ts';
import type { BodyBounds, BodyResult } from './exchange.ts';

/** An upload gets on when it has become longer by this. */
const STEP_BYTES = 64 * 1024;

/**
 * Collects one request body. Bytes that arrive before somebody reads are kept and counted, and the source is paused after them: an upload
 * that nobody wants stays at the client. What is over a bound is dropped at once, and so is everything after it.
 */
export class RequestBody implements Yielding {
  /** Memory of all that came, until it is dropped. Others may take it until somebody has the whole body. */
  readonly room: Room;
  /** From content-length. */
  readonly #declaredBytes: number;
  readonly #bytes: GrowingBytes;
  #length = 0;
  /** Set once nothing that still arrives is wanted. */
  #outcome: BodyResult | undefined;
  #reading: { readonly bounds: BodyBounds; readonly resolve: (result: BodyResult) => void } | undefined;
  /** Fires at the earlier of both bounds of time, as they were when it was set. */
  #timer: NodeJS.Timeout | undefined;
  #lastPieceMs = 0;
  #readUntilMs = 0;

  constructor(budget: SharedBudget, declaredBytes: number) {
    this.room = budget.open();
    this.room.yields(this);
    this.#declaredBytes = declaredBytes;
    this.#bytes = new GrowingBytes(declaredBytes);
  }

  /** False while bytes would only pile up: nobody reads, and nothing has decided yet that they may be dropped. */
  get wantsMore(): boolean {
    return this.#reading !== undefined || this.#outcome !== undefined;
  }

  /** Copies the bytes from `start` to before `end`. */
  push(bytes: BorrowedBytes, start: number, end: number): void {
    if (this.#outcome !== undefined || start === end) return;
    const bounds = this.#reading?.bounds;
    const length = this.#length + end - start;
    if (bounds !== undefined && length > bounds.limitBytes) {
      this.#settle({ kind: 'too_large' });
      return;
    }
    if (Math.floor(length / STEP_BYTES) > Math.floor(this.#length / STEP_BYTES)) this.room.getsOn();
    if (!this.room.take(end - start)) {
      this.giveUp();
      return;
    }
    this.#length = length;
    this.#bytes.append(bytes, start, end);
    if (this.#timer !== undefined) this.#lastPieceMs = performance.now();
  }

  /** The last byte is here: with the last chunk, with the trailers, or because there is no body. */
  finish(): void {
    if (this.#outcome !== undefined) return;
    if (this.#reading !== undefined && !this.room.stays()) this.giveUp();
    else this.#settle({ kind: 'complete', bytes: this.#bytes.take() });
  }

  /** There is no room for it, or the process ends. A body that somebody has is theirs. */
  giveUp(): void {
    if (this.#outcome === undefined) this.#settle({ kind: 'no_room' });
    else if (this.#outcome.kind === 'complete') this.#outcome = { kind: 'no_room' };
  }

  /** The process ends: a body that is here whole stays. */
  end(): void {
    if (this.#outcome === undefined) this.giveUp();
  }

  /** The client left, or was answered: what still comes is dropped. A body that was complete stays so. */
  abandon(): void {
    if (this.#outcome === undefined) this.#settle({ kind: 'gone' });
  }

  /** Once. The bytes of a complete body are the reader's, and are not kept here besides. */
  read(bounds: BodyBounds): Promise<BodyResult> {
    const known = this.#known(bounds);
    if (known !== undefined) return Promise.resolve(this.#handOver(known));
    return new Promise((resolve) => {
      this.#reading = { bounds, resolve };
      this.#lastPieceMs = performance.now();
      this.#readUntilMs = this.#lastPieceMs + bounds.totalMs;
      this.#watch(bounds.idleMs);
    });
  }

  /** Nothing uses the bytes any more. */
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
    if (this.room.stays()) return known;
    this.#drop();
    return { kind: 'no_room' };
  }

  #known(bounds: BodyBounds): BodyResult | undefined {
    const tooLarge = this.#declaredBytes > bounds.limitBytes || this.#length > bounds.limitBytes;
    if (this.#outcome !== undefined && (this.#outcome.kind !== 'complete' || !tooLarge)) return this.#outcome;
    return tooLarge ? { kind: 'too_large' } : undefined;
  }

  /** One timer, set again only where it fires: most bodies are here before. */
  #watch(idleMs: number): void {
    const untilMs = Math.min(this.#lastPieceMs + idleMs, this.#readUntilMs);
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0) this.#settle({ kind: 'timeout' });
    else this.#timer = setTimeout(() => this.#watch(idleMs), Math.ceil(leftMs));
  }

  #settle(outcome: BodyResult): void {
    const reading = this.#reading;
    this.#outcome = reading !== undefined && outcome.kind === 'complete' ? HANDED_OVER : outcome;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (outcome.kind !== 'complete') this.#drop();
    this.#reading = undefined;
    reading?.resolve(outcome);
  }

  #drop(): void {
    this.#bytes.take();
    this.room.release();
  }
}

/** The result of a body that its reader has already. */
const HANDED_OVER: BodyResult = { kind: 'gone' };
