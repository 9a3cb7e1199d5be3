import { areTrailers, parseHead, type ResponseHead } from './response-head.ts';
import { TextBlock } from './text-block.ts';

/** What the reader finds, in order: one head, pieces of the body, the end. */
export interface ResponseSink {
  onHead(head: ResponseHead): void;
  /** `bytes` between these positions; they are only valid until this returns. */
  onBody(bytes: Buffer, start: number, end: number): void;
  /** `reusable`: the connection may carry another request. */
  onEnd(reusable: boolean): void;
}

const MAX_HEAD_BYTES = 64 * 1024;
/** Of one chunk. */
const MAX_EXTENSION_BYTES = 4096;
/** A size stays an exact number. */
const MAX_SIZE_DIGITS = 13;

const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;
const LINE_END = Buffer.from('\r\n');

/** `idle`: no answer is expected, so that nothing may come. */
type State =
  | 'idle'
  | 'head'
  | 'data'
  | 'until_close'
  | 'size'
  | 'extension'
  | 'size_lf'
  | 'data_cr'
  | 'data_lf'
  | 'trailers';

/** Reads the HTTP/1.1 answers of one connection, from pieces cut anywhere. Strict: the only peer is our own Envoy. */
export class ResponseReader {
  readonly #sink: ResponseSink;
  readonly #block = new TextBlock(MAX_HEAD_BYTES);
  #state: State = 'idle';
  #isChunked = false;
  #isLast = false;
  /** Of the data that is still to come, or of the chunk whose size is being read. */
  #left = 0;
  #sizeDigits = 0;
  #extensionBytes = 0;

  constructor(sink: ResponseSink) {
    this.#sink = sink;
  }

  /** Of one request: its answer is expected now. */
  begin(): void {
    this.#state = 'head';
  }

  /** False: this is no answer, and nothing that follows can be read. */
  push(bytes: Buffer): boolean {
    let at = 0;
    while (at < bytes.length) {
      at = this.#take(bytes, at);
      if (at === -1) return false;
    }
    return true;
  }

  /** The connection has ended. True: and so has the answer. */
  finish(): boolean {
    if (this.#state !== 'until_close') return false;
    this.#isLast = true;
    this.#end(true);
    return true;
  }

  /** The position to go on from, or -1. */
  #take(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'head':
        return this.#takeHead(bytes, at);
      case 'data':
        return this.#takeData(bytes, at);
      case 'until_close':
        this.#sink.onBody(bytes, at, bytes.length);
        return bytes.length;
      case 'trailers':
        return this.#takeTrailers(bytes, at);
      case 'idle':
        return -1;
      default:
        return this.#takeFraming(bytes[at] ?? 0) ? at + 1 : -1;
    }
  }

  #takeHead(bytes: Buffer, at: number): number {
    const end = this.#block.take(bytes, at);
    if (this.#block.text === undefined) return end;
    const head = parseHead(this.#block.text);
    if (head === undefined || head.status === 101) return -1;
    // Interim answers say nothing of the one that follows.
    if (head.status < 200) return end;
    const framing = head.framing();
    if (framing === undefined) return -1;
    this.#isLast = framing === 'until_close' || head.endsConnection();
    this.#isChunked = framing === 'chunked';
    this.#sink.onHead(head);
    if (framing === 'until_close') this.#state = 'until_close';
    else if (framing === 'chunked') this.#expectSize();
    else if (framing === 0) this.#end(end === bytes.length);
    else {
      this.#left = framing;
      this.#state = 'data';
    }
    return end;
  }

  #takeData(bytes: Buffer, at: number): number {
    const here = bytes.length - at;
    const end = at + (here < this.#left ? here : this.#left);
    this.#left -= end - at;
    this.#sink.onBody(bytes, at, end);
    if (this.#left > 0) return end;
    if (this.#isChunked) this.#state = 'data_cr';
    else this.#end(end === bytes.length);
    return end;
  }

  #expectSize(): void {
    this.#state = 'size';
    this.#left = 0;
    this.#sizeDigits = 0;
    this.#extensionBytes = 0;
  }

  /** What stands between the data of chunks, byte by byte. */
  #takeFraming(byte: number): boolean {
    switch (this.#state) {
      case 'size':
        return this.#takeSize(byte);
      case 'extension':
        if (byte === CR) this.#state = 'size_lf';
        return byte !== LF && ++this.#extensionBytes <= MAX_EXTENSION_BYTES;
      case 'size_lf':
        this.#state = this.#left > 0 ? 'data' : 'trailers';
        // Trailers, none included, end with an empty line then.
        if (this.#left === 0) this.#block.take(LINE_END, 0);
        return byte === LF;
      case 'data_cr':
        this.#state = 'data_lf';
        return byte === CR;
      default:
        this.#expectSize();
        return byte === LF;
    }
  }

  #takeSize(byte: number): boolean {
    const digit = hexDigit(byte);
    if (digit !== -1) {
      this.#left = this.#left * 16 + digit;
      return ++this.#sizeDigits <= MAX_SIZE_DIGITS;
    }
    if (this.#sizeDigits === 0) return false;
    this.#state = byte === CR ? 'size_lf' : 'extension';
    return byte === CR || byte === SEMICOLON;
  }

  #takeTrailers(bytes: Buffer, at: number): number {
    const end = this.#block.take(bytes, at);
    if (this.#block.text === undefined) return end;
    if (!areTrailers(this.#block.text)) return -1;
    this.#end(end === bytes.length);
    return end;
  }

  #end(nothingFollows: boolean): void {
    this.#state = 'idle';
    this.#sink.onEnd(nothingFollows && !this.#isLast);
  }
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
