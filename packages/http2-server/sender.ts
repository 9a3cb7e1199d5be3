import type { Socket } from 'node:net';
import type { CopyableBytes } from './borrowed-bytes.ts';
import { FrameBuffer } from './frame-buffer.ts';
import {
  CONNECTION_WINDOW_BYTES,
  DEFAULT_FRAME_BYTES,
  DEFAULT_WINDOW_BYTES,
  FrameType,
  Http2ErrorCode,
  MAX_WINDOW_BYTES,
} from './protocol.ts';

/** Size of a full write: large enough to be cheap, small enough that streams take turns. */
const WRITE_BYTES = 256 * 1024;

/** Most replies (PING, SETTINGS, resets) that wait for a client. Ordinary ones cause a handful. */
const MAX_REPLIES_WAITING = 10_000;

/** When a stream is scheduled again. `nothing`: it requests a turn when it has more. */
export type NextTurn = 'at_once' | 'when_connection_window_opens' | 'nothing';

/** A stream, as the sender sees it. */
export interface TurnTaker {
  /** Adds its frames to the sender, with at most one frame of data. */
  takeTurn(): NextTurn;
}

/**
 * Writes the frames of one connection. All frames of one round of the event loop share a write, in
 * which streams take turns frame by frame. While a write is in progress, the next one is filled.
 */
export class Sender {
  readonly #socket: Socket;
  /** Receives frames while the other buffer is being written. */
  #filling = new FrameBuffer();
  #written = new FrameBuffer();
  #writing = false;
  #scheduled = false;
  #closed = false;
  #repliesWaiting = 0;
  /** Streams with frames that their own windows allow, in the order of their turns. */
  readonly #ready = new Set<TurnTaker>();
  /** Streams that wait for the connection's window. */
  readonly #starved = new Set<TurnTaker>();
  #windowBytes = DEFAULT_WINDOW_BYTES;
  /** The client's limit, from its SETTINGS. */
  maxFrameBytes = DEFAULT_FRAME_BYTES;
  readonly #flush = () => this.#sendReady();
  readonly #onWritten = () => {
    this.#writing = false;
    if (this.#filling.length > 0 || this.#ready.size > 0) this.#schedule();
  };

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  get windowBytes(): number {
    return this.#windowBytes;
  }

  /** Gives the stream a turn in this round of the event loop, or in the next. */
  ready(stream: TurnTaker): void {
    this.#ready.add(stream);
    if (!this.#scheduled) this.#schedule();
  }

  forget(stream: TurnTaker): void {
    this.#ready.delete(stream);
    this.#starved.delete(stream);
  }

  headers(streamId: number, block: Buffer, endStream: boolean): void {
    this.#filling.addHeaders(streamId, block, endStream);
  }

  /** Adds a DATA frame. The part must fit into the connection's window and into `maxFrameBytes`. */
  data(streamId: number, bytes: CopyableBytes, start: number, end: number): void {
    this.#windowBytes -= end - start;
    this.#filling.add(FrameType.data, 0, streamId, bytes, start, end);
  }

  windowUpdate(streamId: number, bytes: number): void {
    this.#filling.addNumber(FrameType.windowUpdate, streamId, bytes);
    this.#schedule();
  }

  /** Adds an acknowledgement. Returns an error if too many wait for the client to read. */
  reply(type: number, flags: number, bytes: CopyableBytes, start: number, end: number): Http2ErrorCode {
    this.#filling.add(type, flags, 0, bytes, start, end);
    return this.#countReply();
  }

  /** Adds RST_STREAM. Returns an error if too many wait for the client to read. */
  reset(streamId: number, code: Http2ErrorCode): Http2ErrorCode {
    this.#filling.addNumber(FrameType.reset, streamId, code);
    return this.#countReply();
  }

  /** Adds the first frames of the connection. */
  open(settings: Buffer): void {
    this.#filling.add(FrameType.settings, 0, 0, settings, 0, settings.length);
    this.windowUpdate(0, CONNECTION_WINDOW_BYTES - DEFAULT_WINDOW_BYTES);
  }

  goAway(lastStreamId: number, code: Http2ErrorCode): void {
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(lastStreamId);
    payload.writeUInt32BE(code, 4);
    this.#filling.add(FrameType.goAway, 0, 0, payload, 0, payload.length);
    this.#schedule();
  }

  /** Grows the connection's window by a WINDOW_UPDATE. Returns an error above the maximum. */
  widen(bytes: number): Http2ErrorCode {
    if (this.#windowBytes + bytes > MAX_WINDOW_BYTES) return Http2ErrorCode.flowControl;
    this.#windowBytes += bytes;
    for (const stream of this.#starved) this.ready(stream);
    this.#starved.clear();
    return Http2ErrorCode.noError;
  }

  /** Writes the frames that are left, and closes the connection after them. */
  end(): void {
    if (this.#closed) return;
    if (!this.#writing) this.#sendReady();
    this.#closed = true;
    if (this.#writing && this.#filling.length > 0) this.#socket.write(this.#filling.bytes);
    this.#socket.destroySoon();
  }

  close(): void {
    this.#closed = true;
  }

  #countReply(): Http2ErrorCode {
    this.#schedule();
    return ++this.#repliesWaiting > MAX_REPLIES_WAITING ? Http2ErrorCode.enhanceYourCalm : Http2ErrorCode.noError;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#flush);
  }

  #sendReady(): void {
    this.#scheduled = false;
    if (this.#writing || this.#closed) return;
    // A stream that wants another turn is added again, behind the others.
    for (const stream of this.#ready) {
      if (this.#filling.length >= WRITE_BYTES) break;
      this.#ready.delete(stream);
      const next = stream.takeTurn();
      if (next === 'at_once') this.#ready.add(stream);
      else if (next === 'when_connection_window_opens') this.#starved.add(stream);
    }
    if (this.#filling.length === 0) return;
    const full = this.#filling;
    this.#filling = this.#written;
    this.#filling.clear();
    this.#written = full;
    this.#writing = true;
    this.#repliesWaiting = 0;
    this.#socket.write(full.bytes, this.#onWritten);
  }
}
