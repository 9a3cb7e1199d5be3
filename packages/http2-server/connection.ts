import type { Socket } from 'node:net';
import type { BorrowedBytes } from './borrowed-bytes.ts';
import { type FrameHandler, FrameReader } from './frame-reader.ts';
import { HeaderBlocks } from './header-blocks.ts';
import {
  CONNECTION_WINDOW_BYTES,
  DEFAULT_WINDOW_BYTES,
  Flag,
  FrameType,
  Http2ErrorCode,
  MAX_STREAMS,
  RECEIVED_FRAME_BYTES,
} from './protocol.ts';
import { Sender } from './sender.ts';
import { readSettings, SETTINGS } from './settings.ts';
import { Http2Stream, type StreamOwner, type StreamReader } from './stream.ts';

/** Called for each request with its `:path`, before any of its data. */
export type AcceptStream = (stream: Http2Stream, path: string) => StreamReader;

/** Server's side of an HTTP/2 connection (RFC 9113), without push and priorities: gRPC has none. */
export class Http2Connection implements FrameHandler, StreamOwner {
  readonly sender: Sender;
  readonly #accept: AcceptStream;
  readonly #onError: (error: Error) => void;
  readonly #reader = new FrameReader(this, RECEIVED_FRAME_BYTES);
  readonly #blocks = new HeaderBlocks();
  readonly #streams = new Map<number, Http2Stream>();
  #lastStreamId = 0;
  /** Streams above this id came after GOAWAY and are ignored, as the client knows. */
  #goAwayAfter = Number.POSITIVE_INFINITY;
  #settingsSeen = false;
  #receiveWindowBytes = CONNECTION_WINDOW_BYTES;
  #streamWindowBytes = DEFAULT_WINDOW_BYTES;
  #closed = false;

  constructor(socket: Socket, accept: AcceptStream, onError: (error: Error) => void) {
    this.sender = new Sender(socket);
    this.#accept = accept;
    this.#onError = onError;
    this.sender.open(SETTINGS);
    socket.on('error', onError);
    socket.on('close', () => this.#close());
  }

  /** Reads the first `length` bytes. */
  receive(bytes: BorrowedBytes, length: number): void {
    if (this.#closed) return;
    const code = this.#reader.push(bytes, length);
    if (code === Http2ErrorCode.noError) return;
    this.#onError(new Error(`HTTP/2 connection error ${code}`));
    this.sender.goAway(this.#lastStreamId, code);
    this.sender.end();
    this.#close();
  }

  /**
   * Refuses new streams. Those in flight go on. The client closes the connection when it has read
   * this. If it were closed here, requests that the client writes meanwhile would break instead of
   * being refused.
   */
  goAway(): void {
    if (this.#closed || this.#goAwayAfter !== Number.POSITIVE_INFINITY) return;
    this.#goAwayAfter = this.#lastStreamId;
    this.sender.goAway(this.#lastStreamId, Http2ErrorCode.noError);
  }

  frame(
    type: number,
    flags: number,
    streamId: number,
    bytes: BorrowedBytes,
    start: number,
    end: number,
  ): Http2ErrorCode {
    if (!this.#settingsSeen && type !== FrameType.settings) return Http2ErrorCode.protocol;
    if (this.#blocks.unfinished && type !== FrameType.continuation) return Http2ErrorCode.protocol;
    switch (type) {
      case FrameType.data:
        return this.#paddedData(flags, streamId, bytes, start, end);
      case FrameType.headers: {
        if (streamId % 2 === 0) return Http2ErrorCode.protocol;
        const code = this.#blocks.begin(flags, streamId, bytes, start, end);
        return code === Http2ErrorCode.noError ? this.#takeBlock() : code;
      }
      case FrameType.continuation: {
        const code = this.#blocks.continue(flags, streamId, bytes, start, end);
        return code === Http2ErrorCode.noError ? this.#takeBlock() : code;
      }
      case FrameType.priority:
        if (streamId === 0) return Http2ErrorCode.protocol;
        return end - start === 5 ? Http2ErrorCode.noError : Http2ErrorCode.frameSize;
      case FrameType.reset:
        return this.#reset(streamId, end - start);
      case FrameType.settings:
        return this.#settings(flags, streamId, bytes, start, end);
      case FrameType.pushPromise:
        return Http2ErrorCode.protocol;
      case FrameType.ping:
        if (streamId !== 0) return Http2ErrorCode.protocol;
        if (end - start !== 8) return Http2ErrorCode.frameSize;
        if ((flags & Flag.ack) !== 0) return Http2ErrorCode.noError;
        return this.sender.reply(FrameType.ping, Flag.ack, bytes, start, end);
      case FrameType.goAway:
        // The client opens no more streams, and closes the connection itself.
        if (streamId !== 0) return Http2ErrorCode.protocol;
        return end - start < 8 ? Http2ErrorCode.frameSize : Http2ErrorCode.noError;
      case FrameType.windowUpdate:
        return end - start === 4 ? this.#windowUpdate(streamId, bytes.readUInt32BE(start)) : Http2ErrorCode.frameSize;
      default:
        return Http2ErrorCode.noError;
    }
  }

  data(streamId: number, bytes: BorrowedBytes, start: number, end: number, last: boolean): Http2ErrorCode {
    if (!this.#settingsSeen || this.#blocks.unfinished) return Http2ErrorCode.protocol;
    return this.#data(streamId, bytes, start, end, end - start, last);
  }

  finished(stream: Http2Stream): void {
    this.#streams.delete(stream.id);
    stream.close();
  }

  #data(
    streamId: number,
    bytes: BorrowedBytes,
    start: number,
    end: number,
    flowBytes: number,
    last: boolean,
  ): Http2ErrorCode {
    if (this.#isIdle(streamId)) return Http2ErrorCode.protocol;
    this.#receiveWindowBytes -= flowBytes;
    if (this.#receiveWindowBytes < 0) return Http2ErrorCode.flowControl;
    if (this.#receiveWindowBytes < CONNECTION_WINDOW_BYTES / 2) {
      this.sender.windowUpdate(0, CONNECTION_WINDOW_BYTES - this.#receiveWindowBytes);
      this.#receiveWindowBytes = CONNECTION_WINDOW_BYTES;
    }
    const stream = this.#streams.get(streamId);
    if (stream === undefined) {
      return streamId > this.#goAwayAfter
        ? Http2ErrorCode.noError
        : this.sender.reset(streamId, Http2ErrorCode.streamClosed);
    }
    let code = stream.receive(bytes, start, end, flowBytes);
    if (code === Http2ErrorCode.noError && last) code = stream.receiveEnd();
    return code === Http2ErrorCode.noError ? code : this.#fail(stream, code);
  }

  #paddedData(flags: number, streamId: number, bytes: BorrowedBytes, start: number, end: number): Http2ErrorCode {
    if (start === end) return Http2ErrorCode.frameSize;
    const dataEnd = end - bytes.readUInt8(start);
    if (dataEnd <= start) return Http2ErrorCode.protocol;
    return this.#data(streamId, bytes, start + 1, dataEnd, end - start, (flags & Flag.endStream) !== 0);
  }

  /** Begins or ends a stream, once its block of headers is complete. */
  #takeBlock(): Http2ErrorCode {
    if (this.#blocks.unfinished) return Http2ErrorCode.noError;
    const { streamId, endStream, fields } = this.#blocks;
    const open = this.#streams.get(streamId);
    if (open !== undefined) {
      const code = open.receiveTrailers(endStream && fields.isTrailers);
      return code === Http2ErrorCode.noError ? code : this.#fail(open, code);
    }
    if (streamId <= this.#lastStreamId) return Http2ErrorCode.streamClosed;
    this.#lastStreamId = streamId;
    if (streamId > this.#goAwayAfter) return Http2ErrorCode.noError;
    if (this.#streams.size >= MAX_STREAMS) return this.sender.reset(streamId, Http2ErrorCode.refusedStream);
    const { path } = fields;
    if (!fields.isRequest || path === undefined) return this.sender.reset(streamId, Http2ErrorCode.protocol);
    const stream = new Http2Stream(streamId, this, this.#streamWindowBytes, fields.declaredBytes);
    this.#streams.set(streamId, stream);
    stream.readInto(this.#accept(stream, path));
    const code = endStream ? stream.receiveEnd() : Http2ErrorCode.noError;
    return code === Http2ErrorCode.noError ? code : this.#fail(stream, code);
  }

  #reset(streamId: number, length: number): Http2ErrorCode {
    if (this.#isIdle(streamId)) return Http2ErrorCode.protocol;
    if (length !== 4) return Http2ErrorCode.frameSize;
    const stream = this.#streams.get(streamId);
    if (stream !== undefined) this.finished(stream);
    return Http2ErrorCode.noError;
  }

  #settings(flags: number, streamId: number, bytes: BorrowedBytes, start: number, end: number): Http2ErrorCode {
    if (streamId !== 0) return Http2ErrorCode.protocol;
    if ((flags & Flag.ack) !== 0) return end === start ? Http2ErrorCode.noError : Http2ErrorCode.frameSize;
    this.#settingsSeen = true;
    const settings = readSettings(bytes, start, end);
    if (typeof settings === 'number') return settings;
    this.sender.maxFrameBytes = settings.maxFrameBytes ?? this.sender.maxFrameBytes;
    const moreBytes = (settings.initialWindowBytes ?? this.#streamWindowBytes) - this.#streamWindowBytes;
    this.#streamWindowBytes += moreBytes;
    if (moreBytes !== 0) {
      for (const stream of this.#streams.values()) {
        const code = stream.widen(moreBytes);
        if (code !== Http2ErrorCode.noError) return code;
      }
    }
    return this.sender.reply(FrameType.settings, Flag.ack, bytes, start, start);
  }

  #windowUpdate(streamId: number, value: number): Http2ErrorCode {
    const bytes = value & 0x7fff_ffff;
    if (streamId === 0) return bytes === 0 ? Http2ErrorCode.protocol : this.sender.widen(bytes);
    if (this.#isIdle(streamId)) return Http2ErrorCode.protocol;
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return Http2ErrorCode.noError;
    const code = bytes === 0 ? Http2ErrorCode.protocol : stream.widen(bytes);
    return code === Http2ErrorCode.noError ? code : this.#fail(stream, code);
  }

  /** True if no stream with this id was opened, or for 0, which is the connection itself. */
  #isIdle(streamId: number): boolean {
    return streamId === 0 || streamId > this.#lastStreamId || streamId % 2 === 0;
  }

  /** Resets one stream. The connection goes on. */
  #fail(stream: Http2Stream, code: Http2ErrorCode): Http2ErrorCode {
    const error = this.sender.reset(stream.id, code);
    this.finished(stream);
    return error;
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.sender.close();
    const open = [...this.#streams.values()];
    this.#streams.clear();
    for (const stream of open) stream.close();
  }
}
