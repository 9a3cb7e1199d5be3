import { listenOn, type TcpAddress } from '#core/net/unix-socket.ts';
import type { BorrowedBytes } from '#packages/http2-server/borrowed-bytes.ts';
import { type Http2Server, startHttp2Server } from '#packages/http2-server/server.ts';
import type { Http2Stream, StreamReader } from '#packages/http2-server/stream.ts';
import { type FrameProblem, GrpcMessageReader, type MessageListener } from './grpc-frame.ts';
import { type RequestListener, readRequestMessage } from './request-message.ts';

/**
 * The gRPC service, directly on HTTP/2: one method, one bidirectional stream per request. grpc-js
 * would decode up to 16 messages ahead of a paused consumer: megabytes per upload.
 */
const METHOD = '/envoy.service.ext_proc.v3.ExternalProcessor/Process';

/** Bounds an unfinished message. Pieces of bodies fit into Envoy's much smaller buffer. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

/** ABORTED, which Envoy never uses. It marks a bug of ours, not an unavailable process. */
export const STATUS_FAULT = 10;
const STATUS_OK = 0;
const STATUS_CANCELLED = 1;
const STATUS_RESOURCE_EXHAUSTED = 8;
const STATUS_UNIMPLEMENTED = 12;

/** Receives the messages of the stream. Throws on a message that is invalid at that point. */
export interface ProcessingPeer extends RequestListener {
  /** Called when Envoy has ended its side. Returns true if the request has a response. */
  ended(): boolean;
  /** Called once, last, when the stream is closed. */
  closed(): void;
}

export function startExtProcServer(
  where: string | TcpAddress,
  accept: (stream: ProcessingStream) => ProcessingPeer,
  onFault: (error: Error) => void,
): Promise<Http2Server> {
  const serve = (stream: Http2Stream, path: string): StreamReader => {
    if (path === METHOD) return new ProcessingStream(stream, accept, onFault);
    stream.end(statusOnly(STATUS_UNIMPLEMENTED));
    return NO_READER;
  };
  return startHttp2Server({ listen: (server) => listenOn(server, where), accept: serve, onError: onFault });
}

/** One call of the method: messages on one side, its HTTP/2 stream on the other. */
export class ProcessingStream implements StreamReader, MessageListener {
  readonly #stream: Http2Stream;
  readonly #onFault: (error: Error) => void;
  readonly #messages: GrpcMessageReader;
  readonly #peer: ProcessingPeer;
  #headersSent = false;
  #failed = false;

  constructor(
    stream: Http2Stream,
    accept: (stream: ProcessingStream) => ProcessingPeer,
    onFault: (error: Error) => void,
  ) {
    this.#stream = stream;
    this.#onFault = onFault;
    this.#messages = new GrpcMessageReader(MAX_MESSAGE_BYTES, this);
    this.#peer = accept(this);
  }

  write(bytes: Buffer): void {
    if (!this.#headersSent) this.#stream.sendHeaders(HEADERS);
    this.#headersSent = true;
    this.#stream.sendData(bytes);
  }

  /** Ends with OK. Only after a whole response: without one Envoy would let the request pass. */
  finish(): void {
    this.#end(STATUS_OK);
  }

  /** Ends with an error, so that Envoy refuses the request. */
  fail(status: number): void {
    this.#failed = true;
    this.#end(status);
    this.#stream.resume();
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  data(bytes: BorrowedBytes, start: number, end: number): void {
    if (this.#failed) return;
    try {
      const problem = this.#messages.push(bytes, start, end);
      if (problem !== undefined) this.fail(statusOf(problem));
    } catch (error) {
      this.fail(STATUS_FAULT);
      this.#onFault(error instanceof Error ? error : new Error(String(error)));
    }
  }

  message(bytes: BorrowedBytes, start: number, end: number): void {
    readRequestMessage(bytes, start, end, this.#peer);
  }

  ended(): void {
    if (this.#peer.ended()) this.#end(STATUS_OK);
    else this.fail(STATUS_CANCELLED);
  }

  closed(): void {
    this.#peer.closed();
  }

  #end(status: number): void {
    if (this.#headersSent) this.#stream.end(status === STATUS_OK ? OK_TRAILERS : trailers(status));
    else this.#stream.end(statusOnly(status));
  }
}

/** A block of HPACK without dynamic table: `:status` 200 from the static table, and literals. */
const HEADERS: Buffer = Buffer.concat([Buffer.of(0x88), literal('content-type', 'application/grpc')]);
const OK_TRAILERS: Buffer = trailers(STATUS_OK);

function trailers(status: number): Buffer {
  return literal('grpc-status', String(status));
}

/** A response that consists of its status. */
function statusOnly(status: number): Buffer {
  return Buffer.concat([HEADERS, trailers(status)]);
}

/** A field with a name and a value of less than 127 bytes each (RFC 7541, 6.2.2). */
function literal(name: string, value: string): Buffer {
  return Buffer.from(
    `\0${String.fromCharCode(name.length)}${name}${String.fromCharCode(value.length)}${value}`,
    'latin1',
  );
}

function statusOf(problem: FrameProblem): number {
  return problem === 'compressed' ? STATUS_UNIMPLEMENTED : STATUS_RESOURCE_EXHAUSTED;
}

/** Ignores a request for a method that does not exist. */
const NO_READER: StreamReader = { data: () => undefined, ended: () => undefined, closed: () => undefined };
