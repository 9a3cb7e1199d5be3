import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Address } from '#core/config/network-names.ts';
import { boundConnections } from '#core/net/bounded-connections.ts';
import type { App } from './app.ts';

export interface Listener {
  readonly port: number;
  /** Waits at most 3 s for requests in flight. */
  close(): Promise<void>;
}

const TIMEOUTS = { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 75_000 };
/** A connection without any progress in either direction is closed within twice this time. */
const SILENT_MS = 120_000;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_CONNECTIONS = 2_000;
const CLOSE_MS = 3_000;

/** Resolves once it listens. Rejects if it cannot. */
export function listenOn(app: App, { host, port }: Address): Promise<Listener> {
  const options = { ...TIMEOUTS, maxHeaderSize: MAX_HEADER_BYTES };
  const server = createServer(options, oneAtATime(getRequestListener(app.fetch)));
  // Otherwise Node would refuse such requests itself, any number of them on one connection.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  boundConnections(server, MAX_CONNECTIONS);
  server.setTimeout(SILENT_MS);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const address = server.address();
      resolve({
        port: typeof address === 'object' && address !== null ? address.port : port,
        close: () => closeServer(server),
      });
    });
  });
}

/**
 * Closes a connection whose client pipelines: it sends a request before the previous response has
 * been written. Browsers and proxies never do. Node reads 64 KiB at once, which may be a thousand
 * requests, and would keep their responses for a client that reads nothing.
 */
function oneAtATime(serve: RequestListener): RequestListener {
  const newest = new WeakMap<Socket, ServerResponse>();
  return (request, response) => {
    const { socket } = request;
    if (newest.get(socket)?.writableFinished === false) socket.destroy();
    // Node still emits requests that it has read after their connection was destroyed.
    if (socket.destroyed) return;
    newest.set(socket, response);
    serve(request, response);
  };
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}
