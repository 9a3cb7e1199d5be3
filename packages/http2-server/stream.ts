import type { BorrowedBytes } from './borrowed-bytes.ts';
import { Http2ErrorCode, MAX_WINDOW_BYTES, STREAM_WINDOW_BYTES } from './protocol.ts';
import type { NextTurn, Sender, TurnTaker } from './sender.ts';

/** Receives the client's side of one stream. */
export interface StreamReader {
  /** Called with the next bytes, which are valid until it returns. */
  data(bytes: BorrowedBytes, start: number, end: number): void;
  /** Called when the client has ended its side. */
  ended(): void;
  /** Called once, last, when the stream has ended, was reset, or has lost its connection. */
  closed(): void;
}

export interface StreamOwner {
  readonly sender: Sender;
  /** Called when both sides have ended. */
  finished(stream: Http2Stream): void;
}

/** One stream from its request's headers on. Response headers and trailers are HPACK blocks. */
export class Http2Stream implements TurnTaker {
  readonly id: number;
  readonly #owner: StreamOwner;
  #reader: StreamReader = NO_READER;
  #closed = false;

  #receiveWindowBytes = STREAM_WINDOW_BYTES;
  /** Bytes that were read but not yet given back to the client's window. */
  #readBytes = 0;
  /** Bytes of the content-length that have not arrived. Negative without one. */
  #declaredBytesLeft: number;
  #paused = false;
  #remoteEnded = false;

  #sendWindowBytes: number;
  #headers: Buffer | undefined;
  #trailers: Buffer | undefined;
  #ended = false;
  #waiting: Buffer[] = NOTHING;
  /** Sent bytes of the first buffer that waits. */
  #sentBytes = 0;

  constructor(id: number, owner: StreamOwner, sendWindowBytes: number, declaredBytes: number) {
    this.id = id;
    this.#owner = owner;
    this.#sendWindowBytes = sendWindowBytes;
    this.#declaredBytesLeft = declaredBytes;
  }

  /** Sets the reader, which is made after the stream because it needs the stream. */
  readInto(reader: StreamReader): void {
    this.#reader = reader;
  }

  /** Stops the client when its window is used up, until `resume`. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#giveBack(0);
  }

  /** Must be called before `sendData`. */
  sendHeaders(block: Buffer): void {
    this.#headers = block;
    this.#askForTurn();
  }

  /** Queues bytes, which must not change until sent. The caller has to limit the queue. */
  sendData(bytes: Buffer): void {
    if (this.#ended || this.#closed || bytes.length === 0) return;
    if (this.#waiting === NOTHING) this.#waiting = [bytes];
    else this.#waiting.push(bytes);
    this.#askForTurn();
  }

  /** Ends the response with trailers. Without headers before, they are the whole response. */
  end(trailers: Buffer): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#trailers = trailers;
    this.#askForTurn();
  }

  /** Called with bytes of a DATA frame. `flowBytes` are deducted from the window. */
  receive(bytes: BorrowedBytes, start: number, end: number, flowBytes: number): Http2ErrorCode {
    if (this.#remoteEnded) return Http2ErrorCode.streamClosed;
    this.#receiveWindowBytes -= flowBytes;
    if (this.#receiveWindowBytes < 0) return Http2ErrorCode.flowControl;
    if (this.#declaredBytesLeft >= 0) {
      this.#declaredBytesLeft -= end - start;
      if (this.#declaredBytesLeft < 0) return Http2ErrorCode.protocol;
    }
    if (start < end) this.#reader.data(bytes, start, end);
    this.#giveBack(flowBytes);
    return Http2ErrorCode.noError;
  }

  /** Called by the connection for trailers, which end the client's side. */
  receiveTrailers(wellFormed: boolean): Http2ErrorCode {
    if (!this.#remoteEnded && !wellFormed) return Http2ErrorCode.protocol;
    return this.receiveEnd();
  }

  receiveEnd(): Http2ErrorCode {
    if (this.#remoteEnded) return Http2ErrorCode.streamClosed;
    this.#remoteEnded = true;
    if (this.#declaredBytesLeft > 0) return Http2ErrorCode.protocol;
    if (this.#closed) return Http2ErrorCode.noError;
    this.#reader.ended();
    if (this.#ended && this.#trailers === undefined) this.#owner.finished(this);
    return Http2ErrorCode.noError;
  }

  /** Grows the send window (WINDOW_UPDATE) or adjusts it (SETTINGS), also by a negative number. */
  widen(bytes: number): Http2ErrorCode {
    if (this.#sendWindowBytes + bytes > MAX_WINDOW_BYTES) return Http2ErrorCode.flowControl;
    this.#sendWindowBytes += bytes;
    if (this.#sendWindowBytes > 0 && this.#waiting.length > 0) this.#askForTurn();
    return Http2ErrorCode.noError;
  }

  takeTurn(): NextTurn {
    const { sender } = this.#owner;
    if (this.#headers !== undefined) {
      sender.headers(this.id, this.#headers, false);
      this.#headers = undefined;
    }
    const first = this.#waiting[0];
    if (first !== undefined) {
      if (this.#sendWindowBytes <= 0) return 'nothing';
      if (sender.windowBytes <= 0) return 'when_connection_window_opens';
      this.#sendPart(first);
      if (this.#waiting.length > 0) return 'at_once';
    }
    if (this.#trailers !== undefined) {
      sender.headers(this.id, this.#trailers, true);
      this.#trailers = undefined;
      if (this.#remoteEnded) this.#owner.finished(this);
    }
    return 'nothing';
  }

  /** Called by the connection when it has dropped the stream. */
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

  /** Gives bytes back to the client's window in large steps: most uploads end before the first. */
  #giveBack(bytes: number): void {
    this.#readBytes += bytes;
    if (this.#paused || this.#readBytes < STREAM_WINDOW_BYTES / 2 || this.#remoteEnded || this.#closed) return;
    this.#receiveWindowBytes += this.#readBytes;
    this.#owner.sender.windowUpdate(this.id, this.#readBytes);
    this.#readBytes = 0;
  }
}

const NOTHING: Buffer[] = [];
const NO_READER: StreamReader = { data: () => undefined, ended: () => undefined, closed: () => undefined };
