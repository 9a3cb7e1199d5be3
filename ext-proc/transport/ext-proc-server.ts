import { constants, createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { ProcessingRequest } from '../../proto/generated/ext_proc.ts';
import { readBodyMessage } from './body-message.ts';
import { type FrameProblem, FrameReader } from './grpc-frame.ts';
import { readHeadersMessage } from './headers-message.ts';
import { listenOn, type TcpAddress } from './unix-socket.ts';

/**
 * The gRPC side, spoken straight over HTTP/2: one method, one bidirectional stream per request. grpc-js would decode up to 16 messages
 * ahead of a paused consumer (megabytes per upload that nobody wants), and has no options for Node's limits on resets.
 */
const METHOD = '/envoy.service.ext_proc.v3.ExternalProcessor/Process';

/** Envoy cuts bodies at its connection buffer; this is far above, and bounds what one unfinished message can hold. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** Bytes of one upload that may wait unread. The connection's window is not spent by them: Node gives those bytes back at once. */
const STREAM_WINDOW_BYTES = 256 * 1024;
const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;

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

/** What the stream is told. `receive` may throw on a message that makes no sense. */
export interface ProcessingPeer {
  receive(message: ProcessingRequest): void;
  /** Envoy needs nothing more. Returns whether the request was answered. */
  ended(): boolean;
  /** The stream is closed; called once, last. */
  closed(): void;
}

export interface ExtProcServer {
  /** No new connections, GOAWAY on those that are open; streams in flight go on. */
  stopAccepting(): void;
  close(): void;
}

export async function startExtProcServer(
  where: string | TcpAddress,
  accept: (stream: ProcessingStream) => ProcessingPeer,
  onFault: (error: Error) => void,
): Promise<ExtProcServer> {
  const sessions = new Set<ServerHttp2Session>();
  const server: Http2Server = createServer({
    settings: { initialWindowSize: STREAM_WINDOW_BYTES, maxConcurrentStreams: 100_000, enablePush: false },
    // Megabytes for one connection; the default of 10 refuses streams at some hundred in flight. Bodies have their own budget.
    maxSessionMemory: 4096,
    // Envoy ends each stream with RST_STREAM; Node's guard against rapid resets would close the connection after about a thousand.
    streamResetBurst: Number.MAX_SAFE_INTEGER,
    streamResetRate: Number.MAX_SAFE_INTEGER,
  });
  server.on('session', (session) => {
    sessions.add(session);
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    session.on('error', onFault);
    session.once('close', () => sessions.delete(session));
  });
  server.on('sessionError', onFault);
  server.on('stream', (stream, headers) => serve(stream, headers[':path'], accept, onFault));
  await listenOn(server, where);
  server.on('error', onFault);
  const stopAccepting = () => {
    if (server.listening) server.close();
    for (const session of sessions) session.close();
  };
  return {
    stopAccepting,
    close() {
      stopAccepting();
      for (const session of sessions) session.destroy();
    },
  };
}

function serve(
  stream: ServerHttp2Stream,
  path: string | undefined,
  accept: (stream: ProcessingStream) => ProcessingPeer,
  onFault: (error: Error) => void,
): void {
  // A reset by Envoy is an ordinary event; `close` follows and is what counts.
  stream.on('error', () => undefined);
  if (path !== METHOD) {
    refuse(stream, STATUS_UNIMPLEMENTED);
    return;
  }
  const output = new GrpcOutput(stream);
  const peer = accept(output);
  const reader = new FrameReader(MAX_MESSAGE_BYTES);
  stream.on('data', (chunk: Buffer) => {
    if (output.failed) return;
    try {
      const problem = reader.push(chunk, (message) => peer.receive(readRequest(message)));
      if (problem !== undefined) output.fail(statusOf(problem));
    } catch (error) {
      output.fail(STATUS_FAULT);
      onFault(error instanceof Error ? error : new Error(String(error)));
    }
  });
  stream.on('end', () => {
    if (peer.ended()) output.end(STATUS_OK);
    else output.fail(STATUS_CANCELLED);
  });
  stream.on('close', () => peer.closed());
}

/** By hand what nearly every request consists of, by the generated decoder all else. */
function readRequest(message: Buffer): ProcessingRequest {
  const requestBody = readBodyMessage(message);
  if (requestBody !== undefined) return { requestBody };
  return readHeadersMessage(message) ?? ProcessingRequest.decode(message);
}

function statusOf(problem: FrameProblem): number {
  return problem === 'compressed' ? STATUS_UNIMPLEMENTED : STATUS_RESOURCE_EXHAUSTED;
}

function refuse(stream: ServerHttp2Stream, status: number): void {
  stream.respond(
    { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': String(status) },
    { endStream: true },
  );
}

class GrpcOutput implements ProcessingStream {
  readonly #stream: ServerHttp2Stream;
  #ended = false;
  failed = false;

  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream;
  }

  write(bytes: Buffer): void {
    if (this.#ended || this.#stream.destroyed) return;
    this.#respond();
    this.#stream.write(bytes);
  }

  fail(status: number): void {
    this.failed = true;
    this.end(status);
    this.#stream.resume();
  }

  end(status: number): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#stream.destroyed) return;
    if (!this.#stream.headersSent) {
      refuse(this.#stream, status);
      return;
    }
    this.#stream.once('wantTrailers', () => {
      if (!this.#stream.destroyed) this.#stream.sendTrailers({ 'grpc-status': String(status) });
    });
    this.#stream.end();
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  #respond(): void {
    if (this.#stream.headersSent) return;
    this.#stream.respond(
      { [constants.HTTP2_HEADER_STATUS]: 200, [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc' },
      { waitForTrailers: true },
    );
  }
}
