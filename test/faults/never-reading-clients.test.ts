import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { gatewayClient, outcome, untilNothingHeld } from '../harness/gateway-client.ts';
import { residentBytes } from '../harness/process-cpu.ts';
import { loadJob } from '../load/checks.ts';
import { openSilentClients, type SilentClients } from '../load/silent-clients.ts';
import { startSteadyTraffic } from '../load/steady-traffic.ts';
import { type HostileStack, startHostileStack } from './hostile-stack.ts';

/**
 * Clients that request 50 MB and read nothing, or a kilobyte a second: once with Envoy's heap as
 * deployed, once with very little.
 */
let hostile: HostileStack | undefined;
afterEach(async () => {
  await hostile?.close();
  hostile = undefined;
});
showLogsOnFailure(() => hostile);

const MIB = 1024 * 1024;
/** Clients of each kind. A fifth of them request JSON. */
const EACH = process.env.CI === 'true' ? 40 : 15;
const SLOW_READERS = 10;
const WATCH_MS = process.env.CI === 'true' ? 5_000 : 2_000;
/** Steady traffic ignores both. */
const NO_SIZE = { concurrency: 0, requests: 0 };

function bodyOf(model: string): string {
  return JSON.stringify({ model, stream: model.endsWith('stream'), messages: [{ role: 'user', content: 'Hello' }] });
}

/** Opens streams on one HTTP/2 connection and leaves their data in the flow-control windows. */
async function openSilentStreams(
  { stack, attacker }: HostileStack,
  model: string,
  count: number,
): Promise<SilentClients> {
  const session = connectHttp2(stack.origin);
  session.on('error', () => undefined);
  await once(session, 'connect');
  for (let index = 0; index < count; index += 1) {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/v1/chat/completions',
      authorization: `Bearer ${attacker.key}`,
    });
    stream.on('error', () => undefined);
    stream.end(bodyOf(model));
  }
  return { close: () => session.destroy() };
}

/** Opens clients that read 512 bytes twice a second. */
async function openSlowReaders({ stack, attacker }: HostileStack, count: number): Promise<SilentClients> {
  const body = bodyOf('big-stream');
  const sockets = await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(stack.apiPort, '127.0.0.1');
      socket.on('error', () => undefined);
      // Puts the socket in paused mode, in which `read` takes pieces.
      socket.on('readable', () => undefined);
      await once(socket, 'connect');
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${attacker.key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      return socket;
    }),
  );
  const timer = setInterval(() => {
    for (const socket of sockets) socket.read(512);
  }, 500);
  return {
    close: () => {
      clearInterval(timer);
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Resolves when five consecutive requests of another customer took less than five seconds. */
async function untilPrompt({ stack, others }: HostileStack): Promise<void> {
  const client = gatewayClient(stack.origin, others.key);
  const durationMs = async (): Promise<number> => {
    const startedMs = performance.now();
    for (let request = 0; request < 5; request += 1) expect(outcome(await client.chat({ model: 'json' }))).toBe('200');
    return performance.now() - startedMs;
  };
  await expect.poll(durationMs, { timeout: 60_000 }).toBeLessThan(5_000);
  client.close();
}

async function openMix(here: HostileStack): Promise<SilentClients> {
  const { origin } = here.stack;
  const opened = [
    await openSilentClients(origin, here.attacker.key, bodyOf('big-stream'), EACH),
    await openSilentClients(origin, here.attacker.key, bodyOf('big-json'), EACH / 5),
    await openSilentStreams(here, 'big-stream', EACH),
    await openSilentStreams(here, 'big-json', EACH / 5),
    await openSlowReaders(here, SLOW_READERS),
  ];
  return {
    close: () => {
      for (const clients of opened) clients.close();
    },
  };
}

test('with a mix of such clients memory is bounded, others are served, and afterwards all is charged and nothing is held', async () => {
  hostile = await startHostileStack({ postgresSocketDir: inject('postgresSocketDir') });
  const { stack, others, attacker } = hostile;
  const client = gatewayClient(stack.origin, attacker.key);
  const before = { envoy: residentBytes(hostile.envoy().pid), gateway: residentBytes(stack.gateway.pid) };
  const mix = await openMix(hostile);
  // Others wait while buffers fill up and 50 MB of JSON are read. This work comes to an end.
  await sleep(WATCH_MS);
  await untilPrompt(hostile);
  const traffic = startSteadyTraffic([{ ...loadJob(others, 'json', NO_SIZE), concurrency: 4 }]);
  await sleep(WATCH_MS);
  const report = await traffic.stop();
  const grown = {
    envoy: residentBytes(hostile.envoy().pid) - before.envoy,
    gateway: residentBytes(stack.gateway.pid) - before.gateway,
  };
  expect(report.faults).toEqual({});
  expect(report.latencyMs.p50).toBeLessThan(3_000);
  expect(grown.envoy).toBeLessThan(512 * MIB);
  // Complete JSON responses wait in the process, up to its bound for them.
  expect(grown.gateway).toBeLessThan(1_024 * MIB);
  mix.close();
  await hostile.untilQuiet();
  await untilNothingHeld(client, 60_000);
  const { balance, total_usage: used } = JSON.parse((await client.get('/v1/credits')).text).data;
  client.close();
  expect(used).toBeGreaterThan(0);
  expect(balance + used).toBeCloseTo(1_000_000, 6);
  await stack.operator.verifyLedger();
}, 120_000);

test('with a full heap new requests are refused in the envelope and idle connections closed, and service recovers afterwards', async () => {
  hostile = await startHostileStack({
    postgresSocketDir: inject('postgresSocketDir'),
    editEnvoy: (yaml) => yaml.replace('max_heap_size_bytes: 2147483648', `max_heap_size_bytes: ${64 * MIB}`),
  });
  const { stack, others, attacker } = hostile;
  const client = gatewayClient(stack.origin, others.key);
  const ask = async (): Promise<string> => outcome(await client.chat({ model: 'json' }));
  expect(await ask()).toBe('200');
  const idle = connect(stack.apiPort, '127.0.0.1');
  const idleClosed = once(idle.resume(), 'close');
  const refusing = 'overload.envoy.overload_actions.stop_accepting_requests.active';
  const opened: SilentClients[] = [];
  for (let round = 0; (await hostile.stat(refusing)) !== 1; round += 1) {
    expect(round).toBeLessThan(40);
    opened.push(await openSilentStreams(hostile, 'big-stream', EACH));
    opened.push(await openSilentClients(stack.origin, attacker.key, bodyOf('big-stream'), EACH));
    await sleep(250);
  }
  expect(await ask()).toBe('503 no_capacity');
  await idleClosed;
  expect(residentBytes(hostile.envoy().pid)).toBeLessThan(400 * MIB);
  for (const clients of opened) clients.close();
  await hostile.untilQuiet();
  await expect.poll(ask).toBe('200');
  client.close();
  const owner = gatewayClient(stack.origin, attacker.key);
  await untilNothingHeld(owner, 60_000);
  owner.close();
  await stack.operator.verifyLedger();
}, 120_000);
