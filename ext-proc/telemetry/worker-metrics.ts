import { createServer } from 'node:http';
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client';
import { askServer } from '#core/net/ask-server.ts';
import { serveOn } from '#core/net/unix-socket.ts';

/**
 * Metrics of several gateway processes on one page. The process that is asked for it reads the
 * metrics of the others from their sockets. The series of each process carry its index as `worker`,
 * so nothing is added up here.
 */
type MetricsOfWorker = MetricObjectWithValues<MetricValue<string>>[];

const TIMEOUT_MS = 1_000;
const MAX_RESPONSE_BYTES = 8 * 1024 * 1024;

/** Serves the metrics of a process to the others. `onFault`: as of `startHealthServer`. */
export async function serveWorkerMetrics(
  registry: Registry,
  socketPath: string,
  onFault: (error: Error) => void,
): Promise<{ close(): Promise<void> }> {
  const server = createServer(async (_request, response) => {
    try {
      const metrics = await registry.getMetricsAsJSON();
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metrics));
    } catch {
      response.writeHead(500).end();
    }
  });
  return serveOn(server, socketPath, onFault);
}

/** Metrics of all processes that respond now. A process that restarts is missing for that time. */
export async function allWorkersMetrics(registry: Registry, otherSockets: readonly string[]): Promise<string> {
  if (otherSockets.length === 0) return registry.metrics();
  const own = await registry.getMetricsAsJSON();
  const others = await Promise.all(otherSockets.map(readWorkerMetrics));
  const present = others.filter((metrics) => metrics !== undefined);
  return AggregatorRegistry.aggregate([own, ...present].map(keepAll)).metrics();
}

/** Keeps metrics that prom-client omits from sums (start time): nothing is added up here. */
function keepAll(metrics: MetricsOfWorker): MetricsOfWorker {
  return metrics.map((metric) => (metric.aggregator === 'omit' ? { ...metric, aggregator: 'first' } : metric));
}

/** `undefined`: no process listens on the socket, or it is too slow. */
async function readWorkerMetrics(socketPath: string): Promise<MetricsOfWorker | undefined> {
  try {
    const { status, text } = await askServer({ socketPath }, TIMEOUT_MS, MAX_RESPONSE_BYTES);
    return status === 200 ? (JSON.parse(text) as MetricsOfWorker) : undefined;
  } catch {
    return undefined;
  }
}
