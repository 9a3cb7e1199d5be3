import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { type GatewayClient, gatewayClient, outcome, untilNothingHeld } from '../harness/gateway-client.ts';
import type { Received } from '../harness/http-client.ts';
import type { Customer } from '../harness/operator.ts';
import { untilShipped } from '../harness/shipped.ts';
import { type Stack, startStack } from '../harness/stack.ts';
import {
  chunk,
  head,
  LAST_CHUNK,
  type RawProvider,
  startRawProvider,
  thenFin,
  thenReset,
} from '../provider/raw-provider.ts';

/**
 * A provider's connection breaks after each single byte of a response. The events that arrived
 * complete decide what the client gets and is charged.
 */
const IN_FLIGHT = 64;
/**
 * CI cuts at every byte, other runs at every seventh. 7 divides no event's length, so the positions
 * differ between events.
 */
const STEP = process.env.CI === 'true' ? 1 : 7;

let provider: RawProvider;
let stack: Stack;
let customer: Customer;
let clients: GatewayClient[];

beforeAll(async () => {
  provider = await startRawProvider();
  stack = await startStack({
    postgresSocketDir: inject('postgresSocketDir'),
    config: {
      providers: { raw: { base_url: provider.baseUrl } },
      // An output token costs 1,000 nano-dollars. Nothing else costs anything.
      models: { raw: { usd_per_million_tokens: { input: 0, output: 1 } } },
      timeouts: { first_byte: '20s', stream_idle: '20s', total: '30s' },
    },
  });
  customer = await stack.operator.customer({ organization: { concurrency: 1000 } });
  clients = (['http1', 'http2'] as const).map((protocol) => gatewayClient(stack.origin, customer.key, { protocol }));
});

afterAll(async () => {
  for (const client of clients ?? []) client.close();
  await stack?.close();
  await provider?.close();
});

showLogsOnFailure(() => stack);

const PIECES = ['Hello', ' from', ' afar'];
const REPORTED = { prompt_tokens: 3, completion_tokens: 11 };
const EVENTS = [
  ...PIECES.map((content) => ({ choices: [{ index: 0, delta: { content } }] })),
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { choices: [], usage: REPORTED },
]
  .map((value) => `data: ${JSON.stringify(value)}\n\n`)
  .concat('data: [DONE]\n\n');
const FINISHED = PIECES.length + 1;
const COUNTED = FINISHED + 1;

interface Framing {
  readonly name: string;
  readonly bytes: string;
  /** Number of bytes at which each event is complete. */
  readonly ends: readonly number[];
  readonly cut: typeof thenReset;
}

const SSE_HEAD = head('text/event-stream');
const CHUNKED_HEAD = head('text/event-stream', { 'transfer-encoding': 'chunked' });
const chunked = CHUNKED_HEAD + EVENTS.map(chunk).join('') + LAST_CHUNK;
const closed = SSE_HEAD + EVENTS.join('');

/** The end of each event. Each one occurs exactly once. */
const endsIn = (bytes: string): number[] => EVENTS.map((event) => bytes.indexOf(event) + event.length);

const FRAMINGS: readonly Framing[] = [
  { name: 'chunked, reset', bytes: chunked, ends: endsIn(chunked), cut: thenReset },
  { name: 'chunked, closed', bytes: chunked, ends: endsIn(chunked), cut: thenFin },
  // The end of the connection ends the response, for Envoy even if it is a reset. It ends the last
  // line too, whose line breaks may be missing.
  { name: 'until the end, reset', bytes: closed, ends: endsIn(closed).map((end) => end - 2), cut: thenReset },
  { name: 'until the end, closed', bytes: closed, ends: endsIn(closed).map((end) => end - 2), cut: thenFin },
];

interface Seen {
  readonly outcome: string;
  readonly text: string;
  readonly costNanoUsd: number;
}

function expectedOf(complete: number): Seen {
  if (complete === 0) return { outcome: '503 upstream_error', text: '', costNanoUsd: 0 };
  const text = PIECES.slice(0, complete).join('');
  const tokens = complete >= COUNTED ? REPORTED.completion_tokens : countTokens(text);
  return { outcome: complete >= FINISHED ? 'whole' : 'final error', text, costNanoUsd: 1000 * tokens };
}

function seenIn(received: Received): Seen {
  if (received.status !== 200) return { outcome: outcome(received), text: '', costNanoUsd: 0 };
  const events = received.text.split('\n\n').map((event) => event.replace(/^data: /, ''));
  if (events.splice(-2).join() !== '[DONE],') return { outcome: 'no end', text: received.text, costNanoUsd: 0 };
  const chunks = events.map((event) => JSON.parse(event));
  const last = chunks.at(-1);
  const failed = last.error?.code === 'upstream_error' && last.choices[0].finish_reason === 'error';
  return {
    outcome: failed ? 'final error' : 'whole',
    text: chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''),
    costNanoUsd: Math.round(1e9 * chunks.find(({ usage }) => usage)?.usage.cost),
  };
}

/** Plays every case once, many concurrently, and returns the responses. */
async function playAll(names: readonly string[], body: Readonly<Record<string, unknown>>): Promise<Received[]> {
  const answers: Received[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < names.length; index = next++) {
      const messages = [{ role: 'user', content: names[index] }];
      const client = clients[index % clients.length];
      if (client) answers[index] = await client.chat({ model: 'raw', messages, ...body });
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  return answers;
}

function lengthsOf(bytes: string): number[] {
  return Array.from({ length: bytes.length + 1 }, (_, length) => length).filter(
    (length) => length % STEP === 0 || length >= bytes.length - 1,
  );
}

/** Cost of each generation in the ledger. */
async function charges(): Promise<Map<string, number>> {
  await untilShipped(stack.paths);
  const client = new pg.Client({ connectionString: stack.databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ id: string; cost: string }>(
      'select id, cost_nano_usd::text as cost from generations',
    );
    return new Map(rows.map(({ id, cost }) => [id, Number(cost)]));
  } finally {
    await client.end();
  }
}

/** Expects exactly the charges in the ledger that the clients' usage showed. */
async function expectSettled(before: ReadonlyMap<string, number>, answers: ReadonlyMap<Received, Seen>): Promise<void> {
  for (const client of clients) await untilNothingHeld(client);
  await stack.operator.verifyLedger();
  const after = await charges();
  for (const id of before.keys()) after.delete(id);
  const told = [...answers].filter(([{ status }]) => status === 200);
  const wanted = new Map(told.map(([{ headers }, seen]) => [String(headers['x-generation-id']), seen.costNanoUsd]));
  expect(after).toEqual(wanted);
  expect(stack.logs()).not.toMatch(/"level":"(error|fatal)"|unhandled/i);
}

describe.each(FRAMINGS)('a stream that breaks after each of its bytes ($name)', ({ name, bytes, ends, cut }) => {
  test('delivers and charges the complete events', { timeout: 120_000 }, async () => {
    const lengths = lengthsOf(bytes);
    const names = lengths.map((length) => `${name} ${length}`);
    for (const [index, length] of lengths.entries()) provider.script(names[index] ?? '', cut(bytes.slice(0, length)));
    const before = await charges();
    const answers = await playAll(names, { stream: true, stream_options: { include_usage: true } });
    const expected = lengths.map((length) => expectedOf(ends.filter((end) => end <= length).length));
    const wrong = names.flatMap((name, index) => {
      const [seen, wanted] = [answers[index] && seenIn(answers[index]), expected[index]];
      return JSON.stringify(seen) === JSON.stringify(wanted) ? [] : [{ name, seen, wanted }];
    });
    expect(wrong).toEqual([]);
    // No request is retried, so no provider is paid twice for a broken response.
    expect(names.filter((name) => provider.asked(name) !== 1)).toEqual([]);
    await expectSettled(before, new Map(answers.map((answer) => [answer, seenIn(answer)])));
  });
});

const JSON_BODY = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: PIECES.join('') }, finish_reason: 'stop' }],
  usage: REPORTED,
});
const JSON_FRAMINGS = [
  { name: 'with its length, reset', head: { 'content-length': String(JSON_BODY.length) }, cut: thenReset },
  { name: 'with its length, closed', head: { 'content-length': String(JSON_BODY.length) }, cut: thenFin },
  { name: 'until the end, closed', head: {}, cut: thenFin },
];

describe.each(JSON_FRAMINGS)(
  'a JSON response that breaks after each of its bytes ($name)',
  ({ name, head: more, cut }) => {
    test('is an error that costs nothing unless it is complete', { timeout: 120_000 }, async () => {
      const bytes = head('application/json', more) + JSON_BODY;
      const lengths = lengthsOf(bytes);
      const names = lengths.map((length) => `JSON ${name} ${length}`);
      for (const [index, length] of lengths.entries()) provider.script(names[index] ?? '', cut(bytes.slice(0, length)));
      const before = await charges();
      const answers = await playAll(names, {});
      expect(answers.map(outcome)).toEqual(
        lengths.map((length) => (length === bytes.length ? '200' : '503 upstream_error')),
      );
      expect(names.filter((name) => provider.asked(name) !== 1)).toEqual([]);
      const whole = { outcome: 'whole', text: PIECES.join(''), costNanoUsd: 1000 * REPORTED.completion_tokens };
      await expectSettled(before, new Map(answers.map((answer) => [answer, whole])));
    });
  },
);
