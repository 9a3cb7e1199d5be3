import { newSpanId } from './span-ids.ts';

export type AttributeValue = string | number | readonly string[];

/** `server`: a client's request here; `client`: ours to somebody else. */
export type SpanKind = 'server' | 'client' | 'internal';

export interface SpanEvent {
  readonly name: string;
  readonly atMs: number;
  readonly attributes: ReadonlyMap<string, AttributeValue>;
}

/**
 * One part of a request that is traced. Times are on the monotonic clock. What becomes known of it after its end may still be set, until
 * the whole request ends. Never a prompt, an answer, a key or a client's address.
 */
export class Span {
  readonly id = newSpanId();
  readonly kind: SpanKind;
  readonly parentId: string | undefined;
  readonly startedMs: number;
  readonly attributes = new Map<string, AttributeValue>();
  readonly events: SpanEvent[] = [];
  readonly #monotonicMs: () => number;
  name: string;
  #endedMs: number | undefined;
  #failed = false;

  constructor(name: string, kind: SpanKind, parentId: string | undefined, monotonicMs: () => number) {
    this.name = name;
    this.kind = kind;
    this.parentId = parentId;
    this.#monotonicMs = monotonicMs;
    this.startedMs = monotonicMs();
  }

  get endedMs(): number | undefined {
    return this.#endedMs;
  }

  get failed(): boolean {
    return this.#failed;
  }

  /** `undefined`: not known, so not told. */
  set(name: string, value: AttributeValue | undefined): void {
    if (value !== undefined) this.attributes.set(name, typeof value === 'string' ? bounded(value) : value);
  }

  /** What happened at a moment. */
  event(name: string, attributes: Readonly<Record<string, AttributeValue>> = {}): void {
    this.events.push({ name, atMs: this.#monotonicMs(), attributes: new Map(Object.entries(attributes)) });
  }

  /** Why it did not do what it was for: one of a bounded set of words. */
  fail(errorType: string): void {
    this.set('error.type', errorType);
    this.#failed = true;
  }

  /** Only the first end counts. */
  end(): void {
    this.#endedMs ??= this.#monotonicMs();
  }
}

const LONGEST_TEXT = 200;

/** A copy where it is cut: a slice would keep the whole text in memory for as long as the span waits. */
function bounded(text: string): string {
  return text.length <= LONGEST_TEXT ? text : Buffer.from(text.slice(0, LONGEST_TEXT)).toString();
}
