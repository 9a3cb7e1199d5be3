import { createServer } from 'node:http';
import { boundConnections } from '#core/net/bounded-connections.ts';
import { serveOn, type TcpAddress } from '#core/net/unix-socket.ts';

/** Far more than probes and scrapers need, far fewer than the process may open. */
const MAX_CONNECTIONS = 256;

export interface HealthChecks {
  /** Resolves to the reason why a request through Envoy would not be served now, or `undefined`. */
  notReady(): Promise<string | undefined>;
}

export interface MetricsPage {
  readonly contentType: string;
  read(): Promise<string>;
}

/**
 * `/live`, `/ready` and `/metrics`, on an address of their own that Envoy does not publish.
 * `onFault` is called with errors of the listening socket.
 */
export async function startHealthServer(
  address: TcpAddress,
  checks: HealthChecks,
  metricsPage: MetricsPage,
  onFault: (error: Error) => void,
) {
  const server = createServer(async (request, outgoing) => {
    const response = await respondTo(request.method, request.url, checks, metricsPage).catch((error: unknown) => ({
      status: 500,
      type: 'text/plain',
      body: `${error instanceof Error ? error.message : 'failed'}\n`,
    }));
    outgoing.writeHead(response.status, { 'content-type': response.type }).end(response.body);
  });
  server.headersTimeout = 5000;
  server.requestTimeout = 5000;
  boundConnections(server, MAX_CONNECTIONS);
  return serveOn(server, address, onFault);
}

async function respondTo(method: string | undefined, url: string | undefined, checks: HealthChecks, page: MetricsPage) {
  const text = (status: number, body: string) => ({ status, type: 'text/plain; charset=utf-8', body: `${body}\n` });
  if (method !== 'GET' && method !== 'HEAD') return text(405, 'only GET');
  switch (url?.split('?', 1)[0]) {
    case '/live':
      return text(200, 'live');
    case '/ready': {
      const reason = await checks.notReady();
      return reason === undefined ? text(200, 'ready') : text(503, reason);
    }
    case '/metrics':
      return { status: 200, type: page.contentType, body: await page.read() };
    default:
      return text(404, 'there are /live, /ready and /metrics');
  }
}
