/** Splits a server-sent event stream into events, from pieces cut anywhere (WHATWG HTML 9.2). Work is linear in the bytes. */
export interface SseEvent {
  /** Of the `event:` field; empty when there is none. */
  readonly type: string;
  readonly data: string;
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;

export class SseSplitter {
  readonly #maxEventBytes: number;
  /** The line that has begun but not ended, in a buffer that doubles: 1-byte pieces must not cost an object each. */
  #line = Buffer.alloc(0);
  #lineLength = 0;
  #data: string | undefined;
  #type = '';
  #eventBytes = 0;
  #firstLine = true;
  #skipLf = false;

  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** The events that these bytes complete, or `too_large` for an event above the bound; nothing can follow that. */
  push(bytes: Buffer): SseEvent[] | 'too_large' {
    const events: SseEvent[] = [];
    let start = 0;
    if (this.#skipLf && bytes.length > 0) {
      if (bytes[0] === LF) start = 1;
      this.#skipLf = false;
    }
    // Providers end lines with LF, nearly all of them: one native search says so for the whole piece.
    const onlyLf = !bytes.includes(CR, start);
    for (;;) {
      const end = onlyLf ? bytes.indexOf(LF, start) : lineEnd(bytes, start);
      if (end === -1) break;
      this.#endLine(bytes, start, end, events);
      start = end + 1;
      if (bytes[end] !== CR) continue;
      if (start === bytes.length) this.#skipLf = true;
      else if (bytes[start] === LF) start++;
    }
    this.#keep(bytes, start, bytes.length);
    return this.#lineLength + this.#eventBytes > this.#maxEventBytes ? 'too_large' : events;
  }

  /** After a clean end: some providers leave out the last line's end or the empty line after it. */
  finish(): SseEvent[] {
    const events: SseEvent[] = [];
    if (this.#lineLength > 0) this.#endLine(this.#line, 0, 0, events);
    this.#dispatch(events);
    return events;
  }

  #keep(bytes: Buffer, start: number, end: number): void {
    const length = end - start;
    if (length <= 0) return;
    const needed = this.#lineLength + length;
    if (needed > this.#line.length) {
      const grown = Buffer.allocUnsafe(needed > 2 * this.#line.length ? needed : 2 * this.#line.length);
      this.#line.copy(grown, 0, 0, this.#lineLength);
      this.#line = grown;
    }
    bytes.copy(this.#line, this.#lineLength, start, end);
    this.#lineLength = needed;
  }

  #endLine(bytes: Buffer, start: number, end: number, events: SseEvent[]): void {
    if (this.#lineLength === 0) {
      this.#takeLine(bytes, start, end, events);
      return;
    }
    this.#keep(bytes, start, end);
    const length = this.#lineLength;
    this.#lineLength = 0;
    this.#takeLine(this.#line, 0, length, events);
  }

  #takeLine(bytes: Buffer, lineStart: number, end: number, events: SseEvent[]): void {
    let start = lineStart;
    if (this.#firstLine) {
      this.#firstLine = false;
      if (bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf && end - start >= 3)
        start += 3;
    }
    if (start === end) {
      this.#dispatch(events);
      return;
    }
    // Comments, `id` and `retry` mean nothing to a chat completion and are not passed on: some clients choke on them.
    if (isField(bytes, start, end, 'data')) {
      const value = fieldValue(bytes, start + 4, end);
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
      this.#eventBytes += end - start;
    } else if (isField(bytes, start, end, 'event')) {
      this.#type = fieldValue(bytes, start + 5, end);
    }
  }

  #dispatch(events: SseEvent[]): void {
    if (this.#data !== undefined) events.push({ type: this.#type, data: this.#data });
    this.#data = undefined;
    this.#type = '';
    this.#eventBytes = 0;
  }
}

function lineEnd(bytes: Buffer, start: number): number {
  for (let at = start; at < bytes.length; at++) {
    if (bytes[at] === LF || bytes[at] === CR) return at;
  }
  return -1;
}

function isField(bytes: Buffer, start: number, end: number, name: string): boolean {
  if (end - start < name.length) return false;
  for (let i = 0; i < name.length; i++) {
    if (bytes[start + i] !== name.charCodeAt(i)) return false;
  }
  const after = start + name.length;
  return after === end || bytes[after] === COLON;
}

function fieldValue(bytes: Buffer, afterName: number, end: number): string {
  let start = afterName < end ? afterName + 1 : end;
  if (bytes[start] === SPACE && start < end) start++;
  return bytes.toString('utf8', start, end);
}
