import { Agent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { type ClientHttp2Session, connect } from 'node:http2';
import { request as httpsRequest } from 'node:https';

/**
 * A plain client that shows what an SDK hides: exact bytes, their arrival times, and how a response
 * ended.
 */
export type Protocol = 'http1' | 'http2';

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
  /** When each piece arrived, on `performance.now()`. */
  readonly pieces: ReadonlyArray<{ readonly atMs: number; readonly text: string }>;
}

export interface Send {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly onHead?: (status: number, headers: IncomingHttpHeaders) => void;
  /** Called with every piece as it arrives. A test that aborts in it disconnects midway. */
  readonly onPiece?: (text: string) => void;
  readonly signal?: AbortSignal;
}

export interface HttpClient {
  /** Rejects when the response does not end cleanly. */
  send(request: Send): Promise<Received>;
  close(): void;
}

export function httpClient(origin: string, protocol: Protocol = 'http1', ca?: string): HttpClient {
  return protocol === 'http1' ? http1Client(origin, ca) : http2Client(origin, ca);
}

function http1Client(origin: string, ca: string | undefined): HttpClient {
  const secure = origin.startsWith('https:');
  const agent = secure ? undefined : new Agent({ keepAlive: true });
  return {
    close: () => agent?.destroy(),
    send: (request) =>
      new Promise((resolve, reject) => {
        const options = {
          method: request.method ?? (request.body === undefined ? 'GET' : 'POST'),
          headers: { ...contentLength(request), ...request.headers },
          ...(agent ? { agent } : { agent: false }),
          ...(ca === undefined ? {} : { ca }),
        };
        let answer: IncomingMessage | undefined;
        const outgoing = (secure ? httpsRequest : httpRequest)(`${origin}${request.path}`, options, (response) => {
          answer = response;
          const pieces = collector(request);
          request.onHead?.(response.statusCode ?? 0, response.headers);
          response.on('data', pieces.add);
          response.on('error', reject);
          response.on('end', () => {
            if (!response.complete) return reject(new Error('the response was cut'));
            resolve(received(response.statusCode ?? 0, response.headers, pieces));
          });
        });
        outgoing.on('error', reject);
        // node:http's own `signal` is not used: after the whole response the connection is back in
        // the pool, where nothing handles an error on it.
        const leave = (): void => {
          const reason = request.signal?.reason as Error;
          if (answer?.complete === true) reject(reason);
          else outgoing.destroy(reason);
        };
        if (request.signal?.aborted) leave();
        request.signal?.addEventListener('abort', leave, { once: true });
        outgoing.end(request.body);
      }),
  };
}

function http2Client(origin: string, ca: string | undefined): HttpClient {
  let session: ClientHttp2Session | undefined;
  const current = (): ClientHttp2Session => {
    if (session === undefined || session.closed || session.destroyed) {
      // Node counts bytes that wait to be sent, and rejects an early response when they exceed the
      // default of 10 MB.
      session = connect(origin, { maxSessionMemory: 100, ...(ca === undefined ? {} : { ca }) });
      // Each request reports its own failure.
      session.on('error', () => {});
    }
    return session;
  };
  return {
    close: () => session?.destroy(),
    send: (request) =>
      new Promise((resolve, reject) => {
        const stream = current().request(
          {
            ':method': request.method ?? (request.body === undefined ? 'GET' : 'POST'),
            ':path': request.path,
            ...contentLength(request),
            ...request.headers,
          },
          request.signal ? { signal: request.signal } : {},
        );
        const pieces = collector(request);
        let status = 0;
        let headers: IncomingHttpHeaders = {};
        stream.on('response', (all) => {
          status = Number(all[':status']);
          headers = all as IncomingHttpHeaders;
          request.onHead?.(status, headers);
        });
        stream.on('data', pieces.add);
        stream.on('error', reject);
        stream.on('aborted', () => reject(new Error('the response was cut')));
        stream.on('close', () => {
          if (stream.rstCode !== 0) reject(new Error(`the stream was reset with code ${stream.rstCode}`));
          else if (status === 0) reject(new Error('the stream ended without a response'));
          else resolve(received(status, headers, pieces));
        });
        stream.end(request.body);
      }),
  };
}

function contentLength(request: Send): Record<string, string> {
  return request.body === undefined ? {} : { 'content-length': String(Buffer.byteLength(request.body)) };
}

interface Collector {
  readonly add: (piece: Buffer) => void;
  readonly buffers: Buffer[];
  readonly times: number[];
}

function collector(request: Send): Collector {
  const buffers: Buffer[] = [];
  const times: number[] = [];
  return {
    buffers,
    times,
    add: (piece) => {
      times.push(performance.now());
      buffers.push(piece);
      request.onPiece?.(piece.toString());
    },
  };
}

function received(status: number, headers: IncomingHttpHeaders, { buffers, times }: Collector): Received {
  const body = Buffer.concat(buffers);
  return {
    status,
    headers,
    body,
    text: body.toString(),
    pieces: buffers.map((buffer, index) => ({ atMs: times[index] ?? 0, text: buffer.toString() })),
  };
}
