import { mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { runtimePaths } from '#core/config/runtime-paths.ts';
import { streamClusterName } from '#ext-proc/envoy-config/bootstrap.ts';
import type { Exchange } from '#ext-proc/transport/exchange.ts';
import { startTransport } from '#ext-proc/transport/start.ts';

/**
 * The transport in a separate process, so that it can be killed and measured. The path of a
 * request selects the response.
 */
const index = Number(process.env.WORKER ?? 0);
const paths = runtimePaths(process.env);
mkdirSync(paths.socketDir, { recursive: true });

await startTransport({
  extProcSocket: paths.extProcSocket(index),
  streamSocket: paths.streamSocket(index),
  streamClusterName: streamClusterName(index),
  bodyBudgetBytes: 256 * 1024 * 1024,
  exchangeDeadlineMs: () => 120_000,
  onFault: (fault) => console.error(JSON.stringify({ ...fault, error: String(fault.error) })),
  handler: serve,
});
process.send?.({ type: 'listening' });
process.on('disconnect', () => process.exit());

async function serve(exchange: Exchange): Promise<void> {
  const url = new URL(exchange.path, 'http://any');
  const number = (name: string) => Number(url.searchParams.get(name) ?? 0);
  await exchange.readBody({
    organizationId: 'org_a',
    limitBytes: 20 * 1024 * 1024,
    mostUploads: 1000,
    stallMs: 10_000,
    totalMs: 60_000,
  });
  switch (url.pathname) {
    case '/flood':
      return flood(exchange, number('bytes'));
    case '/paced':
      return paced(exchange, number('events'), number('ms'));
    case '/hang':
      await new Promise<void>((resolve) => exchange.gone.addEventListener('abort', () => resolve()));
      return;
    default:
      await exchange.respond({ status: 200, headers: {}, body: Buffer.from(`worker ${index}`) });
  }
}

async function flood(exchange: Exchange, bytes: number): Promise<void> {
  const stream = await exchange.openStream({ status: 200, headers: {} });
  const piece = Buffer.alloc(65_536, 'x');
  for (let sent = 0; sent < bytes && !exchange.gone.aborted; sent += piece.length) {
    if (stream?.write(piece) === false) await stream.drained();
  }
  await stream?.end();
}

async function paced(exchange: Exchange, events: number, pauseMs: number): Promise<void> {
  const stream = await exchange.openStream({ status: 200, headers: { 'content-type': 'text/event-stream' } });
  for (let event = 0; event < events; event++) {
    stream?.write(Buffer.from(`data: ${event}\n\n`));
    await sleep(pauseMs);
  }
  await stream?.end(Buffer.from('data: [DONE]\n\n'));
}
