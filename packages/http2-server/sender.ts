import type { Socket } from 'node:net';
import { FrameBuffer } from './frame-buffer.ts';
import {
  CONNECTION_WINDOW_BYTES,
  DEFAULT_FRAME_BYTES,
  DEFAULT_WINDOW_BYTES,
  ErrorCode,
  FrameType,
  MAX_WINDOW_BYTES,
} from './protocol.ts';
import type { Http2Stream } from './stream.ts';

/** About what goes into one write: enough that its cost does not show, little enough that streams take turns. */
const WRITE_BYTES = 256 * 1024;

/** Answers to pings and the like that may wait for a client that does not read; an ordinary one makes a handful wait. */
const MAX_REPLIES_WAITING = 10_000;

/**
 * What one connection sends. Everything that the turns of one round of the event loop bring goes out in one write, streams taking turns
 * frame by frame; while a write is under way the next gathers.
 */
export class Sender {
  readonly #socket: Socket;
  /** Filled while what was in the other is being written. */
  #filling = new FrameBuffer();
  #written = new FrameBuffer();
  #writing = false;
  #scheduled = false;
  #closed = false;
  #repliesWaiting = 0;
  /** Have something that their own windows let through, in the order of their turns. */
  readonly #ready = new Set<Http2Stream>();
  /** Wait for the connection's window. */
  readonly #starved = new Set<Http2Stream>();
  #windowBytes = DEFAULT_WINDOW_BYTES;
  /** The peer's, as its settings say. */
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

  /** Asks for a turn. */
  ready(stream: Http2Stream): void {
    this.#ready.add(stream);
    if (!this.#scheduled) this.#schedule();
  }

  forget(stream: Http2Stream): void {
    this.#ready.delete(stream);
    this.#starved.delete(stream);
  }

  headers(streamId: number, block: Buffer, endStream: boolean): void {
    this.#filling.addHeaders(streamId, block, endStream);
  }

  /** Within the window, and one frame's length. */
  data(streamId: number, bytes: Buffer, start: number, end: number): void {
    this.#windowBytes -= end - start;
    this.#filling.add(FrameType.data, 0, streamId, bytes, start, end);
  }

  windowUpdate(streamId: number, bytes: number): void {
    this.#filling.addNumber(FrameType.windowUpdate, streamId, bytes);
    this.#schedule();
  }

  /** Returns an error when the peer lets too many of these wait. */
  reply(type: number, flags: number, bytes: Buffer, start: number, end: number): ErrorCode {
    this.#filling.add(type, flags, 0, bytes, start, end);
    return this.#countReply();
  }

  reset(streamId: number, code: ErrorCode): ErrorCode {
    this.#filling.addNumber(FrameType.reset, streamId, code);
    return this.#countReply();
  }

  /** The first frame of all. */
  open(settings: Buffer): void {
    this.#filling.add(FrameType.settings, 0, 0, settings, 0, settings.length);
    this.windowUpdate(0, CONNECTION_WINDOW_BYTES - DEFAULT_WINDOW_BYTES);
  }

  goAway(lastStreamId: number, code: ErrorCode): void {
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(lastStreamId);
    payload.writeUInt32BE(code, 4);
    this.#filling.add(FrameType.goAway, 0, 0, payload, 0, payload.length);
    this.#schedule();
  }

  widen(bytes: number): ErrorCode {
    if (this.#windowBytes + bytes > MAX_WINDOW_BYTES) return ErrorCode.flowControl;
    this.#windowBytes += bytes;
    for (const stream of this.#starved) this.ready(stream);
    this.#starved.clear();
    return ErrorCode.noError;
  }

  /** Writes what is left, and nothing after it. */
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

  #countReply(): ErrorCode {
    this.#schedule();
    return ++this.#repliesWaiting > MAX_REPLIES_WAITING ? ErrorCode.enhanceYourCalm : ErrorCode.noError;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#flush);
  }

  #sendReady(): void {
    this.#scheduled = false;
    if (this.#writing || this.#closed) return;
    // A stream that wants another turn is added again, and so comes behind the others.
    for (const stream of this.#ready) {
      if (this.#filling.length >= WRITE_BYTES) break;
      this.#ready.delete(stream);
      const wants = stream.takeTurn();
      if (wants === 'turn') this.#ready.add(stream);
      else if (wants === 'connection_window') this.#starved.add(stream);
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
