import { ErrorCode, MAX_WINDOW_BYTES, STREAM_WINDOW_BYTES } from './protocol.ts';
import type { Sender } from './sender.ts';

/** What the peer does with its stream. */
export interface StreamReader {
  /** Bytes that are the caller's again when it returns. */
  data(bytes: Buffer, start: number, end: number): void;
  /** Nothing more comes. */
  ended(): void;
  /** Called once, last, however the stream came to its end. */
  closed(): void;
}

export interface StreamOwner {
  readonly sender: Sender;
  /** Both sides have ended. */
  finished(stream: Http2Stream): void;
}

/** What a stream waits for after its turn. */
export type Wants = 'turn' | 'connection_window' | 'nothing';

/** One stream, from the headers of its request on. Headers and trailers of its answer come as blocks of HPACK. */
export class Http2Stream {
  readonly id: number;
  readonly #owner: StreamOwner;
  #reader: StreamReader = NOBODY;
  #closed = false;

  #receiveWindowBytes = STREAM_WINDOW_BYTES;
  /** Read, and not yet given back to the peer's window. */
  #readBytes = 0;
  /** From content-length, what is left of it; negative without one. */
  #declaredBytesLeft: number;
  #paused = false;
  #remoteEnded = false;

  #sendWindowBytes: number;
  #headers: Buffer | undefined;
  #trailers: Buffer | undefined;
  #ended = false;
  #waiting: Buffer[] = NOTHING;
  /** Of the first of those that wait. */
  #sentBytes = 0;

  constructor(id: number, owner: StreamOwner, sendWindowBytes: number, declaredBytes: number) {
    this.id = id;
    this.#owner = owner;
    this.#sendWindowBytes = sendWindowBytes;
    this.#declaredBytesLeft = declaredBytes;
  }

  /** The reader needs the stream, too, so it comes after it. */
  readInto(reader: StreamReader): void {
    this.#reader = reader;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** The peer may send what is left of the window, and no more until `resume`. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#giveBack(0);
  }

  /** Before any data. */
  sendHeaders(block: Buffer): void {
    this.#headers = block;
    this.#askForTurn();
  }

  sendData(bytes: Buffer): void {
    if (this.#ended || this.#closed || bytes.length === 0) return;
    if (this.#waiting === NOTHING) this.#waiting = [bytes];
    else this.#waiting.push(bytes);
    this.#askForTurn();
  }

  /** Trailers end the answer; alone, they are the whole of it. */
  end(trailers: Buffer): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#trailers = trailers;
    this.#askForTurn();
  }

  /** For the connection: bytes of a DATA frame, of which `flowBytes` count for the window. */
  receive(bytes: Buffer, start: number, end: number, flowBytes: number): ErrorCode {
    if (this.#remoteEnded) return ErrorCode.streamClosed;
    this.#receiveWindowBytes -= flowBytes;
    if (this.#receiveWindowBytes < 0) return ErrorCode.flowControl;
    if (this.#declaredBytesLeft >= 0) {
      this.#declaredBytesLeft -= end - start;
      if (this.#declaredBytesLeft < 0) return ErrorCode.protocol;
    }
    if (start < end) this.#reader.data(bytes, start, end);
    this.#giveBack(flowBytes);
    return ErrorCode.noError;
  }

  /** The end came by itself, after more headers. */
  receiveTrailers(wellFormed: boolean): ErrorCode {
    if (!this.#remoteEnded && !wellFormed) return ErrorCode.protocol;
    return this.receiveEnd();
  }

  receiveEnd(): ErrorCode {
    if (this.#remoteEnded) return ErrorCode.streamClosed;
    this.#remoteEnded = true;
    if (this.#declaredBytesLeft > 0) return ErrorCode.protocol;
    if (this.#closed) return ErrorCode.noError;
    this.#reader.ended();
    if (this.#ended && this.#trailers === undefined) this.#owner.finished(this);
    return ErrorCode.noError;
  }

  /** By a WINDOW_UPDATE, or because the peer's settings changed: then by less than nothing, too. */
  widen(bytes: number): ErrorCode {
    if (this.#sendWindowBytes + bytes > MAX_WINDOW_BYTES) return ErrorCode.flowControl;
    this.#sendWindowBytes += bytes;
    if (this.#sendWindowBytes > 0 && this.#waiting.length > 0) this.#askForTurn();
    return ErrorCode.noError;
  }

  /** Sends what is due up to one frame of data. */
  takeTurn(): Wants {
    const { sender } = this.#owner;
    if (this.#headers !== undefined) {
      sender.headers(this.id, this.#headers, false);
      this.#headers = undefined;
    }
    const first = this.#waiting[0];
    if (first !== undefined) {
      if (this.#sendWindowBytes <= 0) return 'nothing';
      if (sender.windowBytes <= 0) return 'connection_window';
      this.#sendPart(first);
      if (this.#waiting.length > 0) return 'turn';
    }
    if (this.#trailers !== undefined) {
      sender.headers(this.id, this.#trailers, true);
      this.#trailers = undefined;
      if (this.#remoteEnded) this.#owner.finished(this);
    }
    return 'nothing';
  }

  /** The connection has forgotten it. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#ended = true;
    this.#waiting = NOTHING;
    this.#owner.sender.forget(this);
    this.#reader.closed();
  }

  #askForTurn(): void {
    if (!this.#closed) this.#owner.sender.ready(this);
  }

  #sendPart(first: Buffer): void {
    const { sender } = this.#owner;
    const start = this.#sentBytes;
    const windowBytes = Math.min(this.#sendWindowBytes, sender.windowBytes);
    const end = Math.min(first.length, start + sender.maxFrameBytes, start + windowBytes);
    this.#sendWindowBytes -= end - start;
    sender.data(this.id, first, start, end);
    this.#sentBytes = end;
    if (end < first.length) return;
    this.#sentBytes = 0;
    if (this.#waiting.length === 1) this.#waiting = NOTHING;
    else this.#waiting.shift();
  }

  /** In large steps: most uploads are over before the first. */
  #giveBack(bytes: number): void {
    this.#readBytes += bytes;
    if (this.#paused || this.#readBytes < STREAM_WINDOW_BYTES / 2 || this.#remoteEnded || this.#closed) return;
    this.#receiveWindowBytes += this.#readBytes;
    this.#owner.sender.windowUpdate(this.id, this.#readBytes);
    this.#readBytes = 0;
  }
}

const NOTHING: Buffer[] = [];
const NOBODY: StreamReader = { data: () => undefined, ended: () => undefined, closed: () => undefined };
