import { createServer, type Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import type { Address } from '../../core/config/gateway-config.ts';
import { boundConnections } from '../../core/net/bounded-connections.ts';
import type { App } from './app.ts';

export interface Listener {
  readonly port: number;
  /** Lets requests under way end, for a while. */
  close(): Promise<void>;
}

/** Nobody types slower than this; who holds a connection open and says nothing is let go. */
const TIMEOUTS = { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 75_000 };
/** A reader of a CSV who takes nothing for so long will not take the rest. */
const SILENT_MS = 120_000;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_CONNECTIONS = 2_000;
const CLOSE_MS = 3_000;

/** Resolves when it listens; rejects where it cannot. */
export function listenOn(app: App, { host, port }: Address): Promise<Listener> {
  const server = createAdaptorServer({
    fetch: app.fetch,
    createServer,
    serverOptions: { ...TIMEOUTS, maxHeaderSize: MAX_HEADER_BYTES },
  }) as Server;
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
