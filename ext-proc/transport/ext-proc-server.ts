import { listenOn, type TcpAddress } from '../../core/net/unix-socket.ts';
import type { BorrowedBytes } from '../../packages/http2-server/borrowed-bytes.ts';
import { type Http2Server, startHttp2Server } from '../../packages/http2-server/server.ts';
import type { Http2Stream, StreamReader } from '../../packages/http2-server/stream.ts';
import { type FrameProblem, GrpcMessageReader, type MessageListener } from './grpc-frame.ts';
import { type RequestListener, readRequestMessage } from './request-message.ts';

/**
 * The gRPC side, spoken straight over HTTP/2: one method, one bidirectional stream per request. grpc-js would decode up to 16 messages
 * ahead of a paused consumer: megabytes per upload that nobody wants.
 */
const METHOD = '/envoy.service.ext_proc.v3.ExternalProcessor/Process';

/** Envoy cuts bodies at its connection buffer; this is far above, and bounds what one unfinished message can hold. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

/** ABORTED: a status that Envoy never makes up itself, so that a bug of ours can be told from a process that is away. */
export const STATUS_FAULT = 10;
const STATUS_OK = 0;
const STATUS_CANCELLED = 1;
const STATUS_RESOURCE_EXHAUSTED = 8;
const STATUS_UNIMPLEMENTED = 12;

/** Envoy's end of one ext_proc stream. */
export interface ProcessingStream {
  write(bytes: Buffer): void;
  /** Ends with an error, so that Envoy refuses the request. Ending with OK would let it pass (DESIGN 8). */
  fail(status: number): void;
  pause(): void;
  resume(): void;
}

/** What the stream is told. What it receives may make it throw, when that makes no sense. */
export interface ProcessingPeer extends RequestListener {
  /** Envoy needs nothing more. Returns whether the request was answered. */
  ended(): boolean;
  /** The stream is closed; called once, last. */
  closed(): void;
}

export type ExtProcServer = Http2Server;

export function startExtProcServer(
  where: string | TcpAddress,
  accept: (stream: ProcessingStream) => ProcessingPeer,
  onFault: (error: Error) => void,
): Promise<ExtProcServer> {
  const serve = (stream: Http2Stream, path: string): StreamReader => {
    if (path === METHOD) return new GrpcStream(stream, accept, onFault);
    stream.end(statusOnly(STATUS_UNIMPLEMENTED));
    return NO_READER;
  };
  return startHttp2Server({ listen: (server) => listenOn(server, where), accept: serve, onError: onFault });
}

/** One call of the method: messages on one side, its HTTP/2 stream on the other. */
class GrpcStream implements StreamReader, ProcessingStream, MessageListener {
  readonly #stream: Http2Stream;
  readonly #onFault: (error: Error) => void;
  readonly #messages: GrpcMessageReader;
  readonly #peer: ProcessingPeer;
  #answered = false;
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
    if (!this.#answered) this.#stream.sendHeaders(HEADERS);
    this.#answered = true;
    this.#stream.sendData(bytes);
  }

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
    if (this.#answered) this.#stream.end(status === STATUS_OK ? OK_TRAILERS : trailers(status));
    else this.#stream.end(statusOnly(status));
  }
}

/** Without a table of HPACK: `:status` 200, which the static table has, and literals. */
const HEADERS: Buffer = Buffer.concat([Buffer.of(0x88), literal('content-type', 'application/grpc')]);
const OK_TRAILERS: Buffer = trailers(STATUS_OK);

function trailers(status: number): Buffer {
  return literal('grpc-status', String(status));
}

/** An answer that is nothing but its status. */
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

/** Reads a request for a method that does not exist. */
const NO_READER: StreamReader = { data: () => undefined, ended: () => undefined, closed: () => undefined };
