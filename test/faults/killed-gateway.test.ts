import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { afterEach, describe, expect, inject, test } from 'vitest';
import { readWorkerLog } from '#ext-proc/billing/charge-log/log-reading.ts';
import { sql } from '../harness/database.ts';
import { eventsOf, type GatewayClient, gatewayClient, jsonOf, outcome } from '../harness/gateway-client.ts';
import { missingRedis, startTestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { type Stack, startStack } from '../harness/stack.ts';
import { stall, streamAnswer, streamThen } from '../provider/acts.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';
import { createGate } from '../provider/gate.ts';

/**
 * kill -9 of the gateway process in the middle of requests. From the log of the killed process, its
 * successor charges what clients had been sent. The log has estimated tokens. On this text their
 * error against a tokenizer's count is at most this.
 */
const ESTIMATE_ERROR = 0.25;
const TEXT = readFileSync(join(import.meta.dirname, '../corpus/english.txt'), 'utf8');
const WORDS = `${TEXT}\n`.repeat(20).match(/\s*\S+/g) ?? [];
/** Words that the provider has sent when it pauses each stream. */
const SILENT_AFTER = [40, 80, 160, 240];
/** Names of users may contain characters that some readers treat as the end of a line. */
const USER = 'ali\u2028ce\u2029\u0085';
const PROMPT = [{ role: 'user', content: 'Tell me a story.' }];

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Scene {
  readonly stack: Stack;
  readonly provider: FakeProvider;
  readonly client: GatewayClient;
  readonly organizationId: string;
}

async function openScene(redis?: string): Promise<Scene> {
  const provider = await startFakeProvider({ record: false });
  closing.push(() => provider.close());
  const models = ['json', 'keyed', 'endless', ...SILENT_AFTER.map((words) => `silent-${words}`)];
  const stack = await startStack({
    postgresSocketDir: inject('postgresSocketDir'),
    config: {
      ...(redis === undefined ? {} : { redis }),
      providers: { fake: { base_url: provider.baseUrl } },
      models: Object.fromEntries(models.map((model) => [model, {}])),
      timeouts: { first_byte: '60s', stream_idle: '60s', total: '120s' },
    },
  });
  closing.push(() => stack.close());
  for (const words of SILENT_AFTER)
    provider.script(`silent-${words}`, streamThen(words + 1, stall, { pieces: WORDS, paceMs: 2 }));
  provider.script('keyed', streamThen(51, stall, { pieces: WORDS, paceMs: 2 }));
  const { key, organizationId } = await stack.operator.customer();
  const client = gatewayClient(stack.origin, key);
  closing.push(async () => client.close());
  return { stack, provider, client, organizationId };
}

interface Watched {
  readonly model: string;
  generationId(): string;
  /** Text that the client has received so far. */
  text(): string;
  readonly ended: Promise<string>;
}

function watch(client: GatewayClient, model: string, headers: Record<string, string> = {}): Watched {
  let received = '';
  let generationId = '';
  const asked = { model, stream: true, max_tokens: 1000, messages: PROMPT, user: USER };
  const cut = client.chat(asked, {
    headers,
    onHead: (_status, head) => (generationId = String(head['x-generation-id'])),
    onPiece: (piece) => (received += piece),
  });
  const ended = cut.then(
    () => 'whole',
    () => 'cut',
  );
  return { model, generationId: () => generationId, text: () => textOf(received), ended };
}

/** The text of complete events. */
function textOf(received: string): string {
  return received
    .split('\n\n')
    .slice(0, -1)
    .map((event) => JSON.parse(event.slice('data: '.length)).choices[0]?.delta.content ?? '')
    .join('');
}

interface GenerationRow {
  readonly id: string;
  readonly finish_reason: string;
  readonly prompt_tokens: string;
  readonly completion_tokens: string;
  readonly usage_counted: boolean;
  readonly upstream_id: string;
  readonly cost_nano_usd: string;
}

async function generations({ stack }: Scene): Promise<ReadonlyMap<string, GenerationRow>> {
  const rows = await sql<GenerationRow>(
    stack.databaseUrl,
    'select * from generations g left join generation_users u on u.generation_id = g.id',
  );
  return new Map(rows.map((row) => [row.id, row]));
}

async function logged({ stack }: Scene): Promise<ReadonlyMap<string, number>> {
  const { unsettled } = await readWorkerLog(stack.paths.chargeLogDir, 0);
  return new Map(unsettled.map(({ generationId, delivered }) => [generationId, delivered?.tokens ?? 0]));
}

async function heldUsd({ client }: Scene): Promise<number> {
  return jsonOf<{ data: { held: number } }>(await client.get('/v1/credits')).data.held;
}

async function playCrash(scene: Scene): Promise<void> {
  const { stack, provider, client } = scene;
  const json = createGate();
  provider.script('json', json.before(stall));
  const asked = [1, 2].map(() => client.chat({ model: 'json', max_tokens: 100 }).then(outcome, String));
  await json.waitFor(2);
  let written = 0;
  const onEvent = (index: number): void => {
    written = index;
  };
  provider.script('endless', streamAnswer({ pieces: WORDS, paceMs: 25, onEvent }));
  const silent = SILENT_AFTER.map((words) => watch(client, `silent-${words}`));
  const endless = watch(client, 'endless');
  const keyed = watch(client, 'keyed', { 'idempotency-key': 'once' });
  const read = (): number[] => silent.map((one) => one.text().match(/\S+/g)?.length ?? 0);
  await expect.poll(read).toEqual(SILENT_AFTER);
  await expect.poll(() => keyed.text().match(/\S+/g)?.length).toBe(50);
  await expect.poll(() => endless.text().length).toBeGreaterThan(100);
  // The log is written a moment later.
  await expect
    .poll(async () => {
      const tokens = await logged(scene);
      return [...silent, keyed].filter((one) => (tokens.get(one.generationId()) ?? 0) < leastOf(one)).length;
    })
    .toBe(0);
  expect(await heldUsd(scene)).toBeGreaterThan(0);

  await stack.restartGateway('SIGKILL');
  const mostWritten = WORDS.slice(0, written).join('');
  for (const one of [...silent, endless, keyed]) expect(await one.ended).toBe('cut');
  for (const one of await Promise.all(asked)) expect(one).toMatch(/^503 no_capacity|^500 internal_error/);

  // The successor charges and releases everything before it listens, without waiting for leases.
  expect(await heldUsd(scene)).toBe(0);
  const charged = await generations(scene);
  expect([...charged.keys()].sort()).toEqual([...silent, endless, keyed].map((one) => one.generationId()).sort());
  for (const one of [...silent, keyed]) {
    const row = charged.get(one.generationId());
    expect(Number(row?.completion_tokens)).toBeGreaterThanOrEqual(leastOf(one));
    expect(Number(row?.completion_tokens)).toBeLessThanOrEqual(mostOf(one.text()));
  }
  // This stream continued until the kill, so its charge is at most what its provider had sent.
  const cut = Number(charged.get(endless.generationId())?.completion_tokens);
  expect(cut).toBeGreaterThan(0);
  expect(cut).toBeLessThanOrEqual(mostOf(mostWritten));
  for (const row of charged.values()) {
    expect(row).toMatchObject({
      end_user: USER,
      finish_reason: 'error',
      usage_counted: true,
      upstream_id: 'chatcmpl-provider-1',
    });
    expect(Number(row.prompt_tokens)).toBeGreaterThan(0);
    expect(Number(row.cost_nano_usd)).toBe(1000 * (Number(row.prompt_tokens) + Number(row.completion_tokens)));
  }
  await stack.operator.verifyLedger();
  // Attempts without a charge that the provider may bill all the same.
  const uncharged =
    'select a.model, a.reason, a.result, l.reason as loss from provider_attempts a join losses l using (generation_id)';
  const row = { model: 'json', reason: 'crash', result: 'crash', loss: 'crash' };
  await expect.poll(() => sql(stack.databaseUrl, uncharged)).toEqual([row, row]);
}

function leastOf(one: Watched): number {
  return Math.floor(countTokens(one.text()) * (1 - ESTIMATE_ERROR));
}

function mostOf(text: string): number {
  return Math.ceil(countTokens(text) * (1 + ESTIMATE_ERROR));
}

/** Another kill charges nothing twice, and the key is free again. */
async function playAftermath({ stack, provider, client, organizationId }: Scene): Promise<void> {
  const before = await stack.operator.balance(organizationId);
  await stack.restartGateway('SIGKILL');
  expect(await stack.operator.balance(organizationId)).toBe(before);
  provider.script('keyed', streamAnswer());
  const asked = { model: 'keyed', stream: true, max_tokens: 1000, messages: PROMPT };
  const again = await client.chat(asked, { headers: { 'idempotency-key': 'once' } });
  expect(eventsOf(again).at(-1)).toBe('[DONE]');
  expect(again.headers['idempotent-replayed']).toBeUndefined();
  await stack.operator.verifyLedger();
}

describe('kill -9 of the gateway process', () => {
  test('charges what six streams had delivered, and nothing for JSON, with limits in memory', async () => {
    const scene = await openScene();
    await playCrash(scene);
    await playAftermath(scene);
  });

  requirement(missingRedis, () => {
    test('does the same with limits in Redis, and frees the holds at once', async () => {
      const redis = await startTestRedis();
      closing.push(() => redis.stop());
      const scene = await openScene(redis.url);
      await playCrash(scene);
      await playAftermath(scene);
    });
  });
});
