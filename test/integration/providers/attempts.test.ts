import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommandLine } from '#operator/command-line.ts';
import { sql } from '../../harness/database.ts';
import { type GatewayClient, gatewayClient, outcome, untilNothingHeld } from '../../harness/gateway-client.ts';
import { readMetrics } from '../../harness/metrics-page.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { errorAnswer, jsonAnswer, reset, stall, streamAnswer, streamThen } from '../../provider/acts.ts';
import type { Act, Call } from '../../provider/call.ts';

/**
 * A provider that counts the tokens that it received and produced, as the bill of a real one does.
 * The gateway must record all of them, charged or not.
 */
let client: GatewayClient;
let organizationId = '';
const bill = new Map<string, { input: number; output: number }>();

/** Long enough for a machine that stalls for a moment. */
const LIMIT_MS = 4_000;
/** A word of one token. */
const WORD = ' lake';
const WORDS = 20;
const MAX_TOKENS = 500;
/** The price of input and output in the test's configuration. */
const NANO_USD_PER_TOKEN = 1000;
/** The operator's costs of a target in USD per million tokens. */
const costs = (model: string) => ({ input: model === 'second' ? 0.75 : 0.5, output: 2 });
const PROMPT = `Count these:${WORD.repeat(300)}`;
const pieces = Array.from({ length: WORDS }, () => WORD);
const text = WORD.repeat(WORDS);
const usage = { prompt_tokens: countTokens(PROMPT), completion_tokens: WORDS };
/** The first event has the role. */
const EVENTS = 1 + WORDS;

/** Runs `act`, and adds the prompt and `outputTokens` to the bill. */
function billed(outputTokens: number, act: Act): Act {
  return (call: Call) => {
    const line = `${new Date().toISOString().slice(0, 10)},${call.seen.model}`;
    const [message] = (call.seen.json?.messages ?? []) as readonly { readonly content: string }[];
    const { input = 0, output = 0 } = bill.get(line) ?? {};
    bill.set(line, { input: input + countTokens(message?.content ?? ''), output: output + outputTokens });
    return act(call);
  };
}

const whole = streamAnswer({ pieces, usage });
const ACTS: Readonly<Record<string, readonly [Act, ...Act[]]>> = {
  json: [billed(WORDS, jsonAnswer({ text, usage }))],
  stream: [billed(WORDS, whole)],
  cut: [billed(WORDS, streamThen(EVENTS, reset, { pieces }))],
  left: [billed(WORDS, streamThen(EVENTS, stall, { pieces }))],
  early: [billed(0, stall)],
  free: [billed(0, stall)],
  late: [billed(0, stall)],
  second: [billed(WORDS, whole)],
  slow: [billed(0, stall)],
  // The provider bills output up to its limit.
  large: [billed(MAX_TOKENS, jsonAnswer({ text: 'x'.repeat(100_000) }))],
  broken: [billed(0, reset)],
  failing: [errorAnswer(500, 'oops'), billed(WORDS, jsonAnswer({ text, usage }))],
};

const gateway = withGateway((provider) => {
  const target = (model: string, of = 'fake') => ({
    targets: [{ provider: of, model, cost_usd_per_million_tokens: costs(model) }],
  });
  return {
    config: {
      providers: {
        fake: { base_url: provider.baseUrl },
        free: { base_url: provider.baseUrl, bill_prompt_on_disconnect: false },
        // No server listens on this port.
        closed: { base_url: 'http://127.0.0.1:1/v1' },
      },
      models: {
        ...Object.fromEntries(Object.keys(ACTS).map((model) => [model, target(model)])),
        free: target('free', 'free'),
        unreachable: target('unreachable', 'closed'),
        'late-then-served': { targets: [...target('late').targets, ...target('second').targets] },
      },
      timeouts: { first_byte: `${LIMIT_MS}ms`, stream_idle: '20s', total: `${2 * LIMIT_MS}ms` },
      limits: { response_body: '64KiB' },
    },
  };
});

beforeAll(async () => {
  for (const [model, acts] of Object.entries(ACTS)) gateway.provider.script(model, ...acts);
  const customer = await gateway.stack.operator.customer();
  organizationId = customer.organizationId;
  client = gatewayClient(gateway.stack.origin, customer.key);
});

afterAll(async () => {
  client?.close();
});

const messages = [{ role: 'user', content: PROMPT }];
const ask = async (model: string, stream: boolean): Promise<string> =>
  outcome(await client.chat({ model, stream, messages, max_tokens: MAX_TOKENS }));

/** Disconnects after `words` words of the response, or when the provider has the request. */
async function leave(model: string, words = 0): Promise<void> {
  const leaving = new AbortController();
  let seen = '';
  const onPiece = (piece: string) => {
    seen += piece;
    if (seen.split(WORD).length > words) leaving.abort();
  };
  const more = { signal: leaving.signal, ...(words > 0 ? { onPiece } : {}) };
  const asked = gateway.provider.requests(model).length;
  const left = expect(client.chat({ model, stream: true, messages, max_tokens: MAX_TOKENS }, more)).rejects.toThrow();
  if (words === 0) {
    await expect.poll(() => gateway.provider.requests(model).length).toBe(asked + 1);
    leaving.abort();
  }
  await left;
}

/** Disconnects repeatedly, as a client does that wants its prompts read free of charge. */
async function leaveAgainAndAgain(model: string): Promise<void> {
  for (let times = 0; times < 10; times++) await leave(model);
}

interface Row {
  readonly model: string;
  readonly attempt: number;
  readonly result: string;
  readonly reason: string;
  readonly source: string | null;
  readonly prompt: number;
  readonly completion: number;
}

const uncharged = () =>
  sql<Row>(
    gateway.stack.databaseUrl,
    `select provider_model as model, attempt, result, reason, token_source as source, prompt_tokens::integer as prompt,
       completion_tokens::integer as completion
     from provider_attempts where organization_id = '${organizationId}' order by provider_model, attempt`,
  );

test('every provider call is charged, or stored with the reason why not', async () => {
  const outcomes = await Promise.all([
    ask('json', false),
    ask('stream', true),
    ask('cut', true),
    ask('late-then-served', true),
    ask('late', true),
    ask('slow', false),
    ask('large', false),
    ask('broken', false),
    ask('failing', false),
    ask('unreachable', false),
    leave('left', WORDS),
    leaveAgainAndAgain('early'),
    leave('free'),
  ]);
  expect(outcomes.slice(0, 10)).toEqual([
    ...['200', '200', '200', '200'],
    ...['408 request_timeout', '408 request_timeout', '503 upstream_error', '503 upstream_error'],
    ...['200', '503 upstream_error'],
  ]);
  await untilNothingHeld(client);

  const prompt = usage.prompt_tokens;
  const row = { attempt: 1, source: 'counted', prompt, completion: 0 };
  const nothing = { source: null, prompt: 0 };
  const late = { ...row, model: 'late', result: 'first_byte_timeout', reason: 'timeout' };
  const large = { model: 'large', result: 'too_large', reason: 'response_too_large', source: 'estimated' };
  const unreachable = { ...row, ...nothing, model: 'unreachable', result: 'connect_failed', reason: 'not_sent' };
  await expect
    .poll(uncharged)
    .toEqual([
      { ...row, model: 'broken', result: 'reset', reason: 'broken' },
      { ...row, ...nothing, model: 'failing', result: 'status_500', reason: 'provider_error' },
      { ...row, model: 'free', result: 'client_left', reason: 'client_left' },
      { ...row, ...large, completion: MAX_TOKENS },
      late,
      late,
      { ...row, model: 'slow', result: 'total_timeout', reason: 'timeout' },
      unreachable,
      { ...unreachable, attempt: 2 },
    ]);

  const lost = async () =>
    (await gateway.stack.operator.administration.losses(0))
      .map(({ reason, amountNanoUsd }) => `${reason} ${amountNanoUsd}`)
      .sort();
  await expect
    .poll(lost)
    .toEqual([
      `response_too_large ${(prompt + MAX_TOKENS) * NANO_USD_PER_TOKEN}`,
      `timeout ${prompt * NANO_USD_PER_TOKEN}`,
    ]);
});

test('the stored calls explain a bill of the provider to the token, and metrics have the same sums', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gw-bill-'));
  const file = join(folder, 'bill.csv');
  const rows = [...bill].map(([line, { input, output }]) => `${line},${input},0,${output},`);
  await writeFile(file, ['date,model,input_tokens,cached_tokens,output_tokens,cost', ...rows].join('\n'));
  const reconciled = await runCommandLine(['costs', 'reconcile', file], { DATABASE_URL: gateway.stack.databaseUrl });
  await rm(folder, { recursive: true });
  const prompt = usage.prompt_tokens;
  const sum = (calls: number, prompts: number, output_tokens = 0) => ({
    ...{ calls, input_tokens: prompts * prompt, cached_tokens: 0, output_tokens },
  });
  expect(reconciled).toMatchObject({
    kind: 'done',
    json: {
      ok: true,
      differences: [],
      uncharged: {
        timeout: sum(3, 3),
        client_left: sum(1, 1),
        response_too_large: sum(1, 1, MAX_TOKENS),
        broken: sum(1, 1),
        provider_error: sum(1, 0),
      },
    },
  });
  const unchargedTokens = async () => {
    const { samples } = await readMetrics(gateway.stack.metricsOrigin);
    const counted = samples.filter(
      ({ name, value }) => name === 'gateway_uncharged_provider_tokens_total' && value > 0,
    );
    return Object.fromEntries(counted.map(({ labels, value }) => [labels.reason, value]));
  };
  await expect.poll(unchargedTokens).toEqual({
    timeout: 3 * prompt,
    client_left: prompt,
    response_too_large: prompt + MAX_TOKENS,
    broken: prompt,
  });
});

test('a report of costs has the cost of each attempt at its own target', async () => {
  const { stack } = gateway;
  const result = await runCommandLine(['costs', 'report', '--by', 'model'], { DATABASE_URL: stack.databaseUrl });
  if (result.kind !== 'done') throw new Error(result.message);
  const prompt = usage.prompt_tokens;
  /** The cost in USD of a number of prompts and of output tokens, rounded to nano-dollars. */
  const cost = (prompts: number, output = 0, { input, output: each } = costs('')) =>
    Math.round(1000 * (prompts * prompt * input + output * each)) / 1e9;
  const reported = result.json as readonly { model: string; revenue: number; cost: number; margin: number }[];
  expect(Object.fromEntries(reported.map((row) => [row.model, row.cost]))).toEqual({
    ...{ json: cost(1, WORDS), stream: cost(1, WORDS), cut: cost(1, WORDS), left: cost(1, WORDS) },
    ...{ failing: cost(1, WORDS), large: cost(1, MAX_TOKENS), early: cost(10) },
    ...{ late: cost(1), slow: cost(1), broken: cost(1), free: 0 },
    'late-then-served': (1e9 * cost(1) + 1e9 * cost(1, WORDS, costs('second'))) / 1e9,
  });
  for (const { revenue, cost: paid, margin } of reported) expect(margin).toBeCloseTo(revenue - paid, 12);
});
