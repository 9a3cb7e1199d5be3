import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';

/** A request as the provider received it, for assertions. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly httpVersion: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The parsed body. `undefined` if it is not JSON. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
  readonly model: string;
  readonly stream: boolean;
  /** True once the caller has disconnected before the response was complete. */
  hungUp: boolean;
  /** True once the whole response has been written. */
  answered: boolean;
}

/** One request that an act responds to, over HTTP/1.1 or HTTP/2. */
export interface Call {
  readonly seen: SeenRequest;
  writeHead(status: number, headers: Readonly<Record<string, string>>): void;
  /** Resolves when the socket has accepted the bytes, so a slow reader blocks the act. */
  write(bytes: string | Uint8Array): Promise<void>;
  end(bytes?: string | Uint8Array): void;
  /** HTTP/1.1: TCP RST. HTTP/2: RST_STREAM. */
  reset(): void;
  /** Aborted when the caller disconnects. */
  readonly gone: AbortSignal;
}

/** How the provider responds to one request. */
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
  // Writing to a disconnected caller is part of the tests, which check `hungUp`.
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
