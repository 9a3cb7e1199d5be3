import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { sql } from '../harness/database.ts';
import { type GatewayClient, gatewayClient, outcome } from '../harness/gateway-client.ts';
import type { Received } from '../harness/http-client.ts';
import { untilSettled } from '../harness/serving.ts';
import { startStack } from '../harness/stack.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { jsonAnswer, streamAnswer } from '../provider/acts.ts';
import { createGate } from '../provider/gate.ts';

const PROMPT = 'prompt-sentinel-2c7d';
const COMPLETION = 'completion-sentinel-90be';
const KEY = 'key-sentinel-71fa';
const LIMIT = 100;
const MOST_BYTES = 64 * 1024 * 1024;
/** A response costs exactly its hold: the whole output limit, at 1,000 nano-dollars a token. */
const COST = 0.0001;
const USAGE = { prompt_tokens: 10, completion_tokens: LIMIT };

const CONFIG = {
  models: { one: { usd_per_million_tokens: { input: 0, output: 1 } } },
  timeouts: { first_byte: '50s', stream_idle: '50s', total: '60s' },
  retries: { per_target: 0 },
};

const gateway = withGateway({ config: CONFIG, env: { DRAIN_TIMEOUT_MS: '9000' } }, { ownPostgres: true });

afterEach(async () => {
  if (gateway.postgres.isDown()) await gateway.postgres.restart();
});

function ask(client: GatewayClient, key: string, stream: boolean, signal?: AbortSignal): Promise<Received> {
  const messages = [{ role: 'user', content: PROMPT }];
  const more = { headers: { 'idempotency-key': key }, ...(signal ? { signal } : {}) };
  return client.chat({ model: 'one', stream, messages, max_tokens: LIMIT }, more);
}

const newClient = async (credit = '1') => {
  const customer = await gateway.stack.operator.customer({ credit });
  return { ...customer, client: gatewayClient(gateway.stack.origin, customer.key) };
};

/** Repeats a request as a client does that is asked to retry later. */
async function insist(attempt: () => Promise<Received>, timeoutMs = 60_000): Promise<Received> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const received = await attempt().catch(() => undefined);
    if (received?.status === 200) return received;
    if (performance.now() > deadline) throw new Error(`still ${received ? outcome(received) : 'no answer'}`);
    await sleep(50);
  }
}

const answer = (stream: boolean) =>
  stream
    ? streamAnswer({ pieces: [COMPLETION, ' and more'], usage: USAGE })
    : jsonAnswer({ text: COMPLETION, usage: USAGE });

test('the successor of a killed process frees its Idempotency-Key at the start, and the retry is charged once', async () => {
  const { client, organizationId } = await newClient();
  const gate = createGate();
  gateway.provider.script('one', gate.before(answer(false)), answer(false));
  const first = ask(client, 'killed-midway', false);
  await gate.waitFor(1);
  const before = gateway.provider.requests('one').length;
  await gateway.stack.restartGateway('SIGKILL');
  expect((await first).status).toBeGreaterThanOrEqual(500);
  await insist(() => client.get('/v1/models'));
  const retry = await ask(client, 'killed-midway', false);
  expect(outcome(retry)).toBe('200');
  gate.open();
  expect([retry.headers['idempotent-replayed'], gateway.provider.requests('one').length - before]).toEqual([
    undefined,
    1,
  ]);
  expect((await ask(client, 'killed-midway', false)).text).toBe(retry.text);
  expect(await gateway.stack.operator.balance(organizationId)).toBe(1 - COST);
}, 120_000);

test.each([false, true])(
  'a response whose charge waits in the log when the process is killed is replayed by its successor (stream: %s)',
  async (stream) => {
    const { client, organizationId } = await newClient();
    const gate = createGate();
    gateway.provider.script('one', gate.before(answer(stream)));
    const underWay = ask(client, KEY, stream);
    await gate.waitFor(1);
    await gateway.postgres.crash();
    gate.open();
    const received = await underWay;
    expect([received.status, received.text.includes(COMPLETION)]).toEqual([200, true]);
    // While the charge waits, the log contains no more about it than the database would.
    const log = filesBelow(gateway.stack.paths.chargeLogDir)
      .map((path) => readFileSync(path, 'latin1'))
      .join('');
    expect(log).toContain(String(received.headers['x-generation-id']));
    expect(sentinelsIn(log)).toEqual([]);
    await gateway.stack.restartGateway('SIGKILL', () => gateway.postgres.restart());
    const replayed = await insist(() => ask(client, KEY, stream));
    expect(replayed.headers['idempotent-replayed']).toBe('true');
    expect(replayed.body.equals(received.body)).toBe(true);
    expect(await gateway.stack.operator.balance(organizationId)).toBe(1 - COST);
    await gateway.stack.operator.verifyLedger();
  },
);

test('a stopping process reads the response to its end for a client that has disconnected', async () => {
  const { client } = await newClient();
  const gate = createGate();
  gateway.provider.script('one', gate.before(answer(true)));
  const leaving = new AbortController();
  const left = expect(ask(client, 'drained', true, leaving.signal)).rejects.toThrow();
  await gate.waitFor(1);
  leaving.abort();
  await left;
  const restarted = gateway.stack.restartGateway('SIGTERM');
  await sleep(500);
  gate.open();
  await restarted;
  const found = await insist(() => ask(client, 'drained', true));
  expect([found.headers['idempotent-replayed'], found.text.includes(COMPLETION)]).toEqual(['true', true]);
});

test('neither the data folder nor the database contains the key, the prompt or the response in plain', async () => {
  const rows = await sql<{ row: string }>(gateway.stack.databaseUrl, 'select k::text as row from idempotency_keys k');
  expect(rows.length).toBeGreaterThan(0);
  await sql(gateway.stack.databaseUrl, 'checkpoint');
  const places = [
    ['the dump', rows.map(({ row }) => row).join('\n')],
    ...[gateway.stack.paths.dataDir, join(dirname(gateway.postgres.socketDir), 'postgres')]
      .flatMap(filesBelow)
      .map((path) => [path, readIfThere(path)] as const),
  ] as const;
  expect(places.length).toBeGreaterThan(500);
  expect(places.filter(([, text]) => sentinelsIn(text).length > 0).map(([place]) => place)).toEqual([]);
  expect(sentinelsIn(Buffer.from(PROMPT).toString('hex'))).toEqual([PROMPT]);
});

test('PostgreSQL killed under load: every response is charged once, no balance is overspent, every key has one response', async () => {
  gateway.provider.script('one', async (call) => {
    await sleep(20);
    await answer(call.seen.stream)(call);
  });
  const rich = await newClient('1000');
  const poor = await newClient(String(40 * COST));
  const received: Received[] = [];
  const byKey = new Map<string, Received[]>();
  let ending = false;
  const clients = Array.from({ length: 32 }, async (_, index) => {
    for (let i = 0; !ending; i++) {
      const { client } = index % 4 === 3 ? poor : rich;
      const key = `load ${index} ${i}`.replaceAll(' ', '-');
      // Every second key is retried until it has a response, and then once more.
      const attempts = i % 2 === 0 ? 1 : 40;
      const answers: Received[] = [];
      for (let tries = 0; tries < attempts && answers.length < 2; tries++) {
        const one = await ask(client, key, i % 3 === 0).catch(() => undefined);
        if (one && isComplete(one)) answers.push(one);
        else await sleep(50);
      }
      received.push(...answers);
      byKey.set(key, answers);
    }
  });
  await sleep(1_000);
  await gateway.postgres.crash();
  await sleep(700);
  await gateway.postgres.restart();
  await sleep(2_000);
  await gateway.postgres.crash();
  await gateway.postgres.restart();
  await insist(() => rich.client.get('/v1/credits'));
  await sleep(1_000);
  // A slow machine needs longer to serve enough for a meaningful result.
  await expect.poll(() => generationsOf(received).size, { timeout: 40_000 }).toBeGreaterThan(200);
  await expect.poll(() => answeredTwice(byKey), { timeout: 40_000 }).toBeGreaterThan(50);
  ending = true;
  await Promise.all(clients);
  await untilSettled(gateway.stack, 20_000);

  const ids = generationsOf(received);
  const charges = await sql<{ id: string; cost: string; n: string }>(
    gateway.stack.databaseUrl,
    `select g.id, g.cost_nano_usd as cost, count(e.*) as n from generations g left join ledger_entries e on e.generation_id = g.id group by 1, 2`,
  );
  const charged = new Map(charges.map((row) => [row.id, row]));
  const wrong = [...ids].filter((id) => charged.get(id)?.cost !== '100000' || charged.get(id)?.n !== '1');
  expect(wrong).toEqual([]);
  for (const [key, answers] of byKey) {
    expect([key, new Set(answers.map(({ text }) => text)).size]).toEqual([key, Math.min(1, answers.length)]);
  }
  expect(await gateway.stack.operator.balance(poor.organizationId)).toBeGreaterThanOrEqual(0);
  await gateway.stack.operator.verifyLedger();
}, 150_000);

test('keys are free again after their retention, and their rows are deleted', async () => {
  const providers = { fake: { base_url: gateway.provider.baseUrl } };
  const config = { ...CONFIG, providers, idempotency: { retention: '6s' } };
  const short = await startStack({ postgresSocketDir: gateway.postgres.socketDir, config });
  try {
    const client = gatewayClient(short.origin, (await short.operator.customer()).key);
    gateway.provider.script('one', answer(false));
    const first = await ask(client, 'short', false);
    expect((await ask(client, 'short', false)).text).toBe(first.text);
    expect(outcome(await ask(client, 'short', true))).toBe('422 idempotency_key_reused');
    await sleep(6_100);
    const second = await ask(client, 'short', false);
    expect([second.status, second.headers['idempotent-replayed']]).toEqual([200, undefined]);
    const left = () => sql<{ n: number }>(short.databaseUrl, 'select count(*)::int as n from idempotency_keys');
    await expect.poll(left, { interval: 200 }).toEqual([{ n: 0 }]);
  } finally {
    await short.close();
  }
});

function generationsOf(received: readonly Received[]): Set<string> {
  return new Set(received.map(({ headers }) => String(headers['x-generation-id'])));
}

function answeredTwice(byKey: ReadonlyMap<string, readonly Received[]>): number {
  return [...byKey.values()].filter((answers) => answers.length === 2).length;
}

function isComplete({ status, text }: Received): boolean {
  return status === 200 && !text.includes('"finish_reason":"error"');
}

/** Searches for text, for hexadecimal as PostgreSQL shows bytes, and for base64 as in JSON. */
function sentinelsIn(text: string): string[] {
  return [PROMPT, COMPLETION, KEY].filter((sentinel) => {
    const bytes = Buffer.from(sentinel);
    // The base64 of each alignment, without the characters that depend on neighbouring bytes.
    const base64 = [0, 1, 2].map((lead) =>
      Buffer.concat([Buffer.alloc(lead), bytes])
        .toString('base64')
        .slice(4, -4),
    );
    return [sentinel, bytes.toString('hex'), ...base64].some((form) => text.includes(form));
  });
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    return entry.isFile() && (statSync(path, { throwIfNoEntry: false })?.size ?? 0) < MOST_BYTES ? [path] : [];
  });
}

/** Server and process keep running and may remove files. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
