import type { BodyBudget } from './body-budget.ts';
import type { BodyBounds, BodyResult } from './exchange.ts';

const EMPTY = Buffer.alloc(0);

/**
 * Collects one request body. Bytes that arrive before somebody reads are kept and counted, and the source is paused after them: an upload
 * that nobody wants stays at the client. What is over a bound is dropped at once, and so is everything after it.
 */
export class RequestBody {
  readonly #budget: BodyBudget;
  /** From content-length. */
  readonly #declaredBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #charged = 0;
  /** Set once nothing that still arrives is wanted. */
  #outcome: BodyResult | undefined;
  #reading: { readonly bounds: BodyBounds; readonly resolve: (result: BodyResult) => void } | undefined;
  /** Fires at the earlier of both bounds of time, as they were when it was set. */
  #timer: NodeJS.Timeout | undefined;
  #lastPieceMs = 0;
  #readUntilMs = 0;

  constructor(budget: BodyBudget, declaredBytes: number) {
    this.#budget = budget;
    this.#declaredBytes = declaredBytes;
  }

  /** False while bytes would only pile up: nobody reads, and nothing has decided yet that they may be dropped. */
  get wantsMore(): boolean {
    return this.#reading !== undefined || this.#outcome !== undefined;
  }

  push(chunk: Buffer): void {
    if (this.#outcome !== undefined || chunk.length === 0) return;
    const bounds = this.#reading?.bounds;
    if (bounds !== undefined && this.#bytes + chunk.length > bounds.limitBytes) {
      this.#settle({ kind: 'too_large' });
      return;
    }
    if (!this.#budget.take(chunk.length)) {
      this.#settle({ kind: 'no_room' });
      return;
    }
    this.#charged += chunk.length;
    this.#bytes += chunk.length;
    this.#chunks.push(chunk);
    if (this.#timer !== undefined) this.#lastPieceMs = performance.now();
  }

  /** The last byte is here: with the last chunk, with the trailers, or because there is no body. */
  finish(): void {
    if (this.#outcome !== undefined) return;
    const [only = EMPTY] = this.#chunks;
    this.#settle({
      kind: 'complete',
      bytes: this.#chunks.length <= 1 ? only : Buffer.concat(this.#chunks, this.#bytes),
    });
  }

  /** The client left, or was answered: what still comes is dropped. A body that was complete stays so. */
  abandon(): void {
    if (this.#outcome === undefined) this.#settle({ kind: 'gone' });
  }

  read(bounds: BodyBounds): Promise<BodyResult> {
    const known = this.#known(bounds);
    if (known !== undefined) {
      if (this.#outcome === undefined) this.#settle(known);
      return Promise.resolve(known);
    }
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

  #known(bounds: BodyBounds): BodyResult | undefined {
    const tooLarge = this.#declaredBytes > bounds.limitBytes || this.#bytes > bounds.limitBytes;
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
    this.#outcome = outcome;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#chunks = [];
    if (outcome.kind !== 'complete') this.#drop();
    const reading = this.#reading;
    this.#reading = undefined;
    reading?.resolve(outcome);
  }

  #drop(): void {
    this.#chunks = [];
    this.#budget.release(this.#charged);
    this.#charged = 0;
  }
}
