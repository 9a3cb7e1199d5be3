import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';

/** A request as the provider received it, for assertions. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly httpVersion: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The parsed body; `undefined` when it is not JSON. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
  readonly model: string;
  readonly stream: boolean;
  /** The caller hung up before the answer was complete. */
  hungUp: boolean;
  /** The answer was written whole. */
  answered: boolean;
}

/** One request that an act has to answer, over HTTP/1.1 or HTTP/2. */
export interface Call {
  readonly seen: SeenRequest;
  writeHead(status: number, headers: Readonly<Record<string, string>>): void;
  /** Resolves when the bytes were taken, so that a reader that does not read holds the act back. */
  write(bytes: string | Uint8Array): Promise<void>;
  end(bytes?: string | Uint8Array): void;
  /** HTTP/1.1: TCP RST. HTTP/2: RST_STREAM. */
  reset(): void;
  /** Aborted when the caller hung up. */
  readonly gone: AbortSignal;
}

/** How the provider answers one request. */
export type Act = (call: Call) => Promise<void> | void;

export function callOf(
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  seen: SeenRequest,
): Call {
  const gone = new AbortController();
  response.on('finish', () => {
    seen.answered = true;
  });
  response.on('close', () => {
    if (!seen.answered) seen.hungUp = true;
    gone.abort();
  });
  // Writing to a caller that left is part of the tests; what matters is in `hungUp`.
  response.on('error', () => gone.abort());
  const plain = response as ServerResponse;
  return {
    seen,
    gone: gone.signal,
    writeHead: (status, headers) => void plain.writeHead(status, headers),
    write: (bytes) =>
      new Promise((resolve) => {
        if (gone.signal.aborted || plain.write(bytes)) return resolve();
        plain.once('drain', resolve);
        gone.signal.addEventListener('abort', () => resolve(), { once: true });
      }),
    end: (bytes) => void (bytes === undefined ? plain.end() : plain.end(bytes)),
    reset: () => {
      if ('stream' in request) request.stream.close(2);
      else request.socket.resetAndDestroy();
    },
  };
}
