import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  eventsOf,
  type GatewayClient,
  outcome,
  settledGeneration,
  untilNothingHeld,
} from '../harness/gateway-client.ts';
import type { Received } from '../harness/http-client.ts';
import { untilServing } from '../harness/serving.ts';
import { exchangeRaw } from '../harness/transport-fixture.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { jsonAnswer, slowly, streamAnswer } from '../provider/acts.ts';

/**
 * A gateway process is stopped while requests outlive its drain time-out. Each response ends
 * properly and is charged for what its client received.
 */
const LONG_MS = 60_000;
const MOST_TRIES = 10;
const PIECES = Array.from({ length: 600 }, (_, index) => ` word${index}`);

let client: GatewayClient;
const frozen: number[] = [];

const gateway = withGateway(
  {
    config: {
      models: { stream: {}, json: {} },
      timeouts: { first_byte: '100s', stream_idle: '100s', total: '200s' },
    },
    env: { DRAIN_TIMEOUT_MS: '1000' },
  },
  { ownPostgres: true },
);
beforeAll(async () => {
  gateway.provider.script('stream', streamAnswer({ pieces: PIECES, paceMs: LONG_MS / PIECES.length }));
  gateway.provider.script('json', slowly(LONG_MS, jsonAnswer()));
  client = await gateway.openClient({ organization: { concurrency: 1_000 } });
});
afterEach(bringPostgresBack);

/** `frozen` accepts bytes and never replies. */
type PostgresState = 'up' | 'down' | 'frozen';

interface Stop {
  readonly streams: number;
  readonly keyed?: boolean;
  readonly postgres: PostgresState;
  /** How the process learns that it must stop. */
  readonly by: 'SIGTERM' | 'its supervisor is gone';
}

/** Resolves once each stream has delivered some content, with promises of the complete streams. */
async function startStreams({ streams, keyed }: Stop): Promise<readonly Promise<Received>[]> {
  const begun: Promise<void>[] = [];
  const all = Array.from({ length: streams }, (_, index) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    begun.push(promise);
    const headers: Record<string, string> = keyed ? { 'idempotency-key': `${gateway.stack.gateway.pid}-${index}` } : {};
    const onPiece = (text: string) => {
      if (text.includes(' word')) resolve();
    };
    const body = { model: 'stream', stream: true, stream_options: { include_usage: true } };
    return untilAdmitted(() => client.chat(body, { headers, onPiece }));
  });
  await Promise.all(begun);
  return all;
}

/** Retries, because on a busy machine one of many concurrent requests may be refused. */
async function untilAdmitted(ask: () => Promise<Received>): Promise<Received> {
  for (let tries = 1; ; tries++) {
    const received = await ask();
    if (received.status === 200 || tries === MOST_TRIES) return received;
  }
}

function askToEnd({ by }: Stop): void {
  if (by === 'SIGTERM') gateway.stack.gateway.child.kill('SIGTERM');
  else gateway.stack.gateway.child.disconnect();
}

async function bringPostgresBack(): Promise<void> {
  if (gateway.postgres.isDown()) await gateway.postgres.restart();
  for (const pid of frozen.splice(0).reverse()) process.kill(pid, 'SIGCONT');
}

async function take(state: PostgresState): Promise<void> {
  if (state === 'down') await gateway.postgres.shutDown();
  if (state === 'frozen') frozen.push(...gateway.postgres.processes());
  for (const pid of frozen) process.kill(pid, 'SIGSTOP');
}

async function startAgain(): Promise<void> {
  await bringPostgresBack();
  await gateway.stack.restartGateway('SIGTERM');
  await untilServing(gateway.stack, [gateway.stack.gateway, gateway.stack.envoy]);
}

/** Reads the last events of a stream. Throws unless they are usage, error and `[DONE]`. */
function endOf(received: Received): { readonly code: string; readonly cost: number } {
  const [usage, failed, done] = eventsOf(received).slice(-3);
  expect(done).toBe('[DONE]');
  return {
    code: (JSON.parse(failed ?? '') as { error: { code: string } }).error.code,
    cost: (JSON.parse(usage ?? '') as { usage: { cost: number } }).usage.cost,
  };
}

const STOPS: readonly Stop[] = [
  { streams: 10, postgres: 'down', by: 'SIGTERM' },
  { streams: 40, postgres: 'down', by: 'SIGTERM' },
  { streams: 60, keyed: true, postgres: 'up', by: 'SIGTERM' },
  { streams: 60, keyed: true, postgres: 'down', by: 'SIGTERM' },
  { streams: 200, postgres: 'up', by: 'SIGTERM' },
  { streams: 20, postgres: 'frozen', by: 'SIGTERM' },
  { streams: 40, postgres: 'up', by: 'its supervisor is gone' },
  { streams: 40, keyed: true, postgres: 'down', by: 'its supervisor is gone' },
];

describe('streams that are cut by a stop end like any broken stream, and are charged for what their clients received', () => {
  test.each(STOPS)('$streams streams, keyed: $keyed, PostgreSQL $postgres, $by', async (stop) => {
    const streams = await startStreams(stop);
    await take(stop.postgres);
    askToEnd(stop);
    expect(await gateway.stack.gateway.exited).toBe(0);
    const received = await Promise.all(streams);
    const ends = received.map(endOf);
    expect(new Set(ends.map(({ code }) => code))).toEqual(new Set(['upstream_error']));
    await startAgain();
    const costs: unknown[] = [];
    for (const { headers } of received)
      costs.push((await settledGeneration(client, String(headers['x-generation-id']))).total_cost);
    expect(costs).toEqual(ends.map(({ cost }) => cost));
    expect(Math.min(...ends.map(({ cost }) => cost))).toBeGreaterThan(0);
    await untilNothingHeld(client);
    await gateway.stack.operator.verifyLedger();
  });
});

test.each(['up', 'down'] as const)(
  'JSON requests, an upload and a new request are refused in the envelope and cost nothing (PostgreSQL %s)',
  async (state) => {
    const asked = gateway.provider.requests('json').length;
    const answers = Array.from({ length: 10 }, () => client.chat({ model: 'json' }));
    const keyed = client.chat(
      { model: 'json' },
      { headers: { 'idempotency-key': `json-${gateway.stack.gateway.pid}` } },
    );
    await expect.poll(() => gateway.provider.requests('json').length).toBe(asked + 11);
    const { key } = await gateway.stack.operator.customer();
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-length: 5000`;
    const upload = exchangeRaw(gateway.stack.apiPort, `${head}\r\n\r\n{"model`);
    await take(state);
    gateway.stack.gateway.child.kill('SIGTERM');
    await expect.poll(async () => outcome(await client.chat({ model: 'json' }))).toBe('503 no_capacity');
    expect(await gateway.stack.gateway.exited).toBe(0);
    const refused = await Promise.all([...answers, keyed]);
    expect(refused.map(outcome)).toEqual(refused.map(() => '503 no_capacity'));
    expect(await upload).toMatch(/^HTTP\/1\.1 503 [\s\S]*"code":"no_capacity"/);
    await startAgain();
    for (const { headers } of refused) {
      const generation = await client.get(`/v1/generation?id=${String(headers['x-generation-id'])}`);
      expect(outcome(generation)).toBe('404 generation_not_found');
    }
    await untilNothingHeld(client);
    await gateway.stack.operator.verifyLedger();
  },
);
