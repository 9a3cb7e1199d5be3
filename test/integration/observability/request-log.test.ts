import { describe, expect, test } from 'vitest';
import { sql } from '../../harness/database.ts';
import { gatewayClient, MESSAGES } from '../../harness/gateway-client.ts';
import type { Received, Send } from '../../harness/http-client.ts';
import { BY, type Customer, type CustomerOptions } from '../../harness/operator.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { untilMinuteIsYoung } from '../../harness/young-window.ts';
import { errorAnswer, jsonAnswer, reset, stall, streamAnswer, streamThen } from '../../provider/acts.ts';

/** The rows of the request log for requests through a real Envoy. */

const USAGE = { prompt_tokens: 100, completion_tokens: 50 };
/** The cost of USAGE at 1,000 nano-dollars a token. */
const COST_NANO_USD = '150000';
const USER_AGENT = 'request-log-test/1.0';

const gateway = withGateway((provider) => ({
  config: {
    providers: {
      fake: { base_url: provider.baseUrl, on_disconnect: 'abort' },
      spare: { base_url: provider.baseUrl },
    },
    models: {
      one: {},
      two: {
        targets: [
          { provider: 'fake', model: 'two' },
          { provider: 'spare', model: 'two-spare' },
        ],
      },
    },
    retries: { per_target: 0 },
  },
}));

type Row = Readonly<Record<string, unknown>>;

/** Waits for `count` rows of the organization. Returns them, oldest first. */
async function linesOf({ organizationId }: Customer, count: number): Promise<Row[]> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const rows = await sql<Row>(
      gateway.stack.databaseUrl,
      `select * from request_log where organization_id = '${organizationId}' order by id`,
    );
    if (rows.length >= count) return rows;
    if (performance.now() > deadline) throw new Error(`${rows.length} lines instead of ${count}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function send({ key }: Pick<Customer, 'key'>, request: Send): Promise<Received> {
  const client = gatewayClient(gateway.stack.origin, key);
  try {
    return await client.send({ ...request, headers: { 'user-agent': USER_AGENT, ...request.headers } });
  } finally {
    client.close();
  }
}

function chat(customer: Pick<Customer, 'key'>, body: object, more: Partial<Send> = {}): Promise<Received> {
  const text = JSON.stringify({ model: 'one', messages: MESSAGES, ...body });
  return send(customer, { path: '/v1/chat/completions', body: text, ...more });
}

const customerWith = (options: CustomerOptions = {}): Promise<Customer> => gateway.stack.operator.customer(options);

describe('a successful request', () => {
  test.each([
    ['JSON', {}, () => jsonAnswer({ usage: USAGE })],
    ['a stream', { stream: true }, () => streamAnswer({ usage: USAGE })],
    ['with a user', { user: 'ada\0', metadata: { team: 'a"\0' } }, () => jsonAnswer({ usage: USAGE })],
  ])('is logged with all of its fields: %s', async (_, body, act) => {
    const customer = await customerWith();
    gateway.provider.script('one', act());
    const beforeMs = Date.now();
    const received = await chat(customer, body);
    expect(received.status).toBe(200);
    const [line] = await linesOf(customer, 1);
    expect(line).toEqual({
      id: expect.stringMatching(/^log-[0-7][0-9A-HJKMNP-TV-Z]{25}$/),
      organization_id: customer.organizationId,
      key_id: customer.keyId,
      request_id: received.headers['x-request-id'],
      generation_id: received.headers['x-generation-id'],
      route: 'chat',
      model: 'one',
      model_known: true,
      provider: 'fake',
      address: '127.0.0.1',
      user_agent: USER_AGENT,
      status: 200,
      code: null,
      streamed: 'stream' in body,
      replayed: false,
      client_gone: false,
      prompt_tokens: '100',
      completion_tokens: '50',
      cached_tokens: '0',
      reasoning_tokens: '0',
      cost_nano_usd: COST_NANO_USD,
      provider_cost_nano_usd: null,
      first_event_ms: expect.any(Number),
      duration_ms: expect.any(Number),
      end_user: 'user' in body ? 'ada\ufffd' : null,
      metadata: 'user' in body ? { team: 'a"\ufffd' } : null,
    });
    // Both ids contain the time of arrival.
    expect(String(line?.id).slice(4, 14)).toBe(String(line?.generation_id).slice(4, 14));
    const [sums] = await sql<Row>(
      gateway.stack.databaseUrl,
      `select * from request_stats where organization_id = '${customer.organizationId}'`,
    );
    expect(sums).toMatchObject({
      key_id: customer.keyId,
      model: 'one',
      code: '',
      requests: '1',
      cost_nano_usd: COST_NANO_USD,
    });
    const [used] = await sql<{ last_used_at: Date; last_address: string }>(
      gateway.stack.databaseUrl,
      `select * from key_activity where key_id = '${customer.keyId}'`,
    );
    expect(used?.last_address).toBe('127.0.0.1');
    expect(Number(used?.last_used_at)).toBeGreaterThanOrEqual(beforeMs);
    expect(Number(used?.last_used_at)).toBeLessThanOrEqual(Date.now());
  });

  test('that is a replay has the generation of the original, and no cost', async () => {
    const customer = await customerWith();
    gateway.provider.script('one', jsonAnswer({ usage: USAGE }));
    const headers = { 'idempotency-key': 'once' };
    const body = { metadata: { team: 'search' } };
    const first = await chat(customer, body, { headers });
    const second = await chat(customer, body, { headers });
    expect(second.headers['idempotent-replayed']).toBe('true');
    const [original, replay] = await linesOf(customer, 2);
    expect(original).toMatchObject({ replayed: false, cost_nano_usd: COST_NANO_USD, ...body });
    const generation = first.headers['x-generation-id'];
    expect(original?.generation_id).toBe(generation);
    expect(replay).toMatchObject({
      replayed: true,
      generation_id: generation,
      status: 200,
      provider: null,
      cost_nano_usd: null,
      metadata: null,
    });
  });

  test('that is a read is logged too', async () => {
    const customer = await customerWith();
    await send(customer, { path: '/v1/models' });
    await send(customer, { path: '/v1/usage?start_date=never' });
    const lines = await linesOf(customer, 2);
    expect(lines.map(({ route, status, code, model }) => [route, status, code, model])).toEqual([
      ['models', 200, null, null],
      ['usage', 400, 'invalid_request', null],
    ]);
  });
});

describe('a refused request', () => {
  interface Case {
    readonly code: string;
    readonly status: number;
    readonly customer?: CustomerOptions;
    readonly body?: object;
    /** Set if another request must come first, to use up the limit. */
    readonly after?: 'another';
  }
  const REFUSED: readonly Case[] = [
    { code: 'key_expired', status: 401, customer: { key: { expiresAtMs: Date.now() } } },
    { code: 'ip_not_allowed', status: 401, customer: { key: { ipRanges: ['192.0.2.0/24'] } } },
    { code: 'missing_scope', status: 403, customer: { scopes: ['usage:read'] } },
    { code: 'unknown_parameter', status: 400, body: { unheard: 1 } },
    { code: 'model_not_found', status: 404, body: { model: 'three' } },
    { code: 'model_not_allowed', status: 403, customer: { key: { models: ['two'] } } },
    { code: 'insufficient_credits', status: 402, customer: { credit: '0' } },
    {
      code: 'rpm_exceeded',
      status: 429,
      customer: { organization: { requestsPerMinute: 1 } },
      after: 'another',
    },
  ];

  test.concurrent.each(REFUSED)('is logged with its key: $code', async ({ code, status, body: fields, ...more }) => {
    const body = { metadata: { team: 'search' }, ...fields };
    const customer = await customerWith(more.customer);
    if (more.after) {
      await untilMinuteIsYoung();
      await chat(customer, body);
    }
    const received = await chat(customer, body);
    expect(received.status).toBe(status);
    const lines = await linesOf(customer, more.after ? 2 : 1);
    expect(lines.at(-1)).toMatchObject({
      key_id: customer.keyId,
      request_id: received.headers['x-request-id'],
      generation_id: null,
      status,
      code,
      user_agent: USER_AGENT,
      cost_nano_usd: null,
      metadata: null,
    });
  });

  test.concurrent('of a revoked key or a suspended organization is logged with its key', async () => {
    const customer = await customerWith();
    await gateway.stack.operator.administration.setSuspended(customer.organizationId, true, BY);
    expect((await chat(customer, {})).status).toBe(403);
    await gateway.stack.operator.administration.revokeKey(customer.keyId, BY);
    expect((await chat(customer, {})).status).toBe(401);
    const lines = await linesOf(customer, 2);
    expect(lines.map(({ code, key_id, model }) => [code, key_id, model])).toEqual([
      ['org_suspended', customer.keyId, null],
      ['key_revoked', customer.keyId, null],
    ]);
  });

  test.concurrent('has a cut and cleaned user agent and model, and an unknown model makes no group of its own', async () => {
    const customer = await customerWith();
    const model = `x\u0000\u001b[31m${'y'.repeat(300)}`;
    await chat(customer, { model }, { headers: { 'user-agent': 'ü'.repeat(150) } });
    const [line] = await linesOf(customer, 1);
    expect(line).toMatchObject({ code: 'model_not_found', model: `x[31m${'y'.repeat(193)}` });
    expect(String(line?.user_agent)).toHaveLength(200);
    expect(
      await sql(
        gateway.stack.databaseUrl,
        `select model, code from request_stats where organization_id = '${customer.organizationId}'`,
      ),
    ).toEqual([{ model: '', code: 'model_not_found' }]);
  });
});

describe('the request log', () => {
  test('has no requests with unknown keys, no unknown routes and no probes', async () => {
    const count = async (): Promise<unknown> =>
      (await sql<{ lines: string }>(gateway.stack.databaseUrl, 'select count(*) as lines from request_log'))[0]?.lines;
    const customer = await customerWith();
    await send(customer, { path: '/v1/models' });
    await linesOf(customer, 1);
    const before = await count();
    expect((await send({ key: 'sk-gw-nobody' }, { path: '/v1/models' })).status).toBe(401);
    expect((await send(customer, { path: '/v2/models' })).status).toBe(404);
    expect((await fetch(`${gateway.stack.metricsOrigin}/ready`)).status).toBe(200);
    await send(customer, { path: '/v1/models' });
    await linesOf(customer, 2);
    expect(await count()).toBe(String(Number(before) + 1));
  });
});

describe('a failed request', () => {
  test('has the provider that was tried last', async () => {
    const customer = await customerWith();
    gateway.provider.script('two', errorAnswer(500, 'broken'));
    gateway.provider.script('two-spare', reset);
    const received = await chat(customer, { model: 'two' });
    const [line] = await linesOf(customer, 1);
    expect(line).toMatchObject({ status: 503, code: 'upstream_error', provider: 'spare', cost_nano_usd: null });
    expect(line?.generation_id).toBe(received.headers['x-generation-id']);
  });

  test('whose stream broke has the sent status and the code of its last event', async () => {
    const customer = await customerWith();
    gateway.provider.script('one', streamThen(2, reset));
    expect((await chat(customer, { stream: true })).status).toBe(200);
    const [line] = await linesOf(customer, 1);
    expect(line).toMatchObject({ status: 200, code: 'upstream_error', streamed: true, provider: 'fake' });
    expect(Number(line?.cost_nano_usd)).toBeGreaterThan(0);
  });

  test.each([
    ['midway', () => streamThen(2, stall), { status: 200, code: null }],
    ['before the first event', () => stall, { status: 499, code: null }],
  ])('whose client disconnects %s has `client_gone`', async (_, act, expected) => {
    const customer = await customerWith();
    gateway.provider.script('one', act());
    const leaving = new AbortController();
    const onPiece = (): void => leaving.abort();
    const asked = gateway.provider.requests('one').length;
    const left = expect(chat(customer, { stream: true }, { signal: leaving.signal, onPiece })).rejects.toThrow();
    if (expected.status === 499) {
      await expect.poll(() => gateway.provider.requests('one').length).toBe(asked + 1);
      leaving.abort();
    }
    await left;
    const [line] = await linesOf(customer, 1);
    expect(line).toMatchObject({ ...expected, client_gone: true, streamed: true });
  });
});
