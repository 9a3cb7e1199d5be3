import { GrowingBytes } from '../../fairness/growing-bytes.ts';

/** Splits server-sent events from pieces cut anywhere (WHATWG HTML 9.2), in linear time. */
export interface SseEvent {
  /** Value of the `event:` field; empty if there is none. */
  readonly type: string;
  readonly data: string;
}

/** Consecutive events in the text of a stream. */
export interface EventSequence {
  /** Position after the last event. */
  readonly end: number;
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const LETTER_D = 0x64;
const LETTER_E = 0x65;

export class SseSplitter {
  readonly #maxEventBytes: number;
  /** The beginning of a line whose end has not arrived. */
  readonly #line = new GrowingBytes();
  /** Whole lines, each ended by LF. Decoding them together is much cheaper than line by line. */
  #text = '';
  #at = 0;
  #data: string | undefined;
  #type = '';
  /** Length of the event's data lines, in UTF-16 units, which are never more than their bytes. */
  #eventLength = 0;
  #isFirst = true;
  #skipLf = false;
  /** The next lines belong to an event that is dropped. */
  #isSkipping = false;

  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** Adds bytes. All earlier events must have been read. */
  push(bytes: Buffer): void {
    const start = this.#skipLf && bytes[0] === LF ? 1 : 0;
    if (bytes.length > 0) this.#skipLf = false;
    // Nearly all providers end lines with LF. One native search of the piece finds the others.
    const hasCr = bytes.includes(CR, start);
    const lastLf = bytes.lastIndexOf(LF);
    const last = hasCr ? Math.max(lastLf, bytes.lastIndexOf(CR)) : lastLf;
    if (last < start) {
      this.#line.append(bytes, start, bytes.length);
      return;
    }
    const text = this.#endLine(bytes, start, last + 1);
    this.#line.append(bytes, last + 1, bytes.length);
    this.#skipLf = last === bytes.length - 1 && bytes[last] === CR;
    this.#setText(hasCr ? text.replaceAll('\r\n', '\n').replaceAll('\r', '\n') : text);
  }

  /** Call it after a clean end: some providers omit the last line end or the last empty line. */
  finish(): void {
    this.#setText(`${this.#line.take().toString()}\n\n`);
  }

  /** True while the current event is above the bound. Call `skipEvent` before the next `push`. */
  get isTooLarge(): boolean {
    return this.#line.length + this.#eventLength > this.#maxEventBytes;
  }

  /** Drops the current event, including the part that has not arrived. */
  skipEvent(): void {
    this.#line.free();
    this.#forget();
    this.#isSkipping = true;
  }

  /** Returns the next event. `undefined`: no whole event is left. */
  next(): SseEvent | undefined {
    for (;;) {
      const start = this.#at;
      const end = this.#text.indexOf('\n', start);
      if (end === -1) {
        this.#setText('');
        return undefined;
      }
      this.#at = end + 1;
      if (start < end) this.#takeLine(start, end);
      else if (this.#data !== undefined) return this.#dispatch(this.#data);
      else this.#forget();
    }
  }

  /** Consumes the events that `match` recognizes at the current position of the text. */
  takeSequence<T extends EventSequence>(match: (text: string, start: number) => T | undefined): T | undefined {
    if (this.#data !== undefined || this.#type !== '' || this.#isSkipping) return undefined;
    const sequence = match(this.#text, this.#at);
    if (sequence !== undefined) this.#at = sequence.end;
    return sequence;
  }

  #endLine(bytes: Buffer, start: number, end: number): string {
    if (this.#line.length === 0) return bytes.toString('utf8', start, end);
    this.#line.append(bytes, start, end);
    const text = this.#line.view().toString();
    this.#line.clear();
    return text;
  }

  #setText(text: string): void {
    this.#text = text;
    this.#at = 0;
    if (!this.#isFirst || text === '') return;
    this.#isFirst = false;
    if (text.charCodeAt(0) === 0xfeff) this.#at = 1;
  }

  #takeLine(start: number, end: number): void {
    if (this.#isSkipping) return;
    const text = this.#text;
    // Comments, `id` and `retry` mean nothing in a chat completion and are not passed on: some
    // clients fail on them.
    const first = text.charCodeAt(start);
    if (first === LETTER_D && isField(text, start, end, 'data')) {
      const value = fieldValue(text, start + 4, end);
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
      this.#eventLength += end - start;
    } else if (first === LETTER_E && isField(text, start, end, 'event')) {
      this.#type = fieldValue(text, start + 5, end);
    }
  }

  #dispatch(data: string): SseEvent {
    const event = { type: this.#type, data };
    this.#forget();
    return event;
  }

  #forget(): void {
    this.#data = undefined;
    this.#type = '';
    this.#eventLength = 0;
    this.#isSkipping = false;
  }
}

function isField(text: string, start: number, end: number, name: string): boolean {
  const after = start + name.length;
  return text.slice(start, after) === name && (after === end || text.charCodeAt(after) === COLON);
}

function fieldValue(text: string, afterName: number, end: number): string {
  if (afterName === end) return '';
  const start = text.charCodeAt(afterName + 1) === SPACE ? afterName + 2 : afterName + 1;
  return text.slice(start, end);
}
