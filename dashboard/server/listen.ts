import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Address } from '#core/config/gateway-config.ts';
import { boundConnections } from '#core/net/bounded-connections.ts';
import type { App } from './app.ts';

export interface Listener {
  readonly port: number;
  /** Waits for requests in progress, for at most 3 s. */
  close(): Promise<void>;
}

/** A connection that stays silent for longer is closed. */
const TIMEOUTS = { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 75_000 };
/** A connection of which nothing is read or taken is closed within twice the time. */
const SILENT_MS = 120_000;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_CONNECTIONS = 2_000;
const CLOSE_MS = 3_000;

/** Resolves when it listens. Rejects if it cannot. */
export function listenOn(app: App, { host, port }: Address): Promise<Listener> {
  const options = { ...TIMEOUTS, maxHeaderSize: MAX_HEADER_BYTES };
  const server = createServer(options, oneAtATime(getRequestListener(app.fetch)));
  // Node would refuse them itself, any number of a connection at once.
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
 * Ends a connection whose client sends a request before the response to the one before it has been
 * written (pipelining). Browsers and proxies never do. Node reads 64 KiB at once, which are a
 * thousand requests, and would keep their responses for a client that reads nothing.
 */
function oneAtATime(serve: RequestListener): RequestListener {
  const newest = new WeakMap<Socket, ServerResponse>();
  return (request, response) => {
    const { socket } = request;
    if (newest.get(socket)?.writableFinished === false) socket.destroy();
    // Requests that have been read are still passed on after the end of their connection.
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
