import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, test } from 'vitest';
import { runCommandLine } from '#operator/command-line.ts';
import {
  errorOf,
  eventsOf,
  gatewayClient,
  jsonOf,
  outcome,
  settledGeneration,
  untilNothingHeld,
} from '../../harness/gateway-client.ts';
import { metric } from '../../harness/metrics-page.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { jsonAnswer, streamAnswer } from '../../provider/acts.ts';
import { createGate } from '../../provider/gate.ts';

/**
 * Context windows below the provider's, as an operator may set them to cap cost. The provider still
 * reads and bills everything that it is sent.
 */
const WINDOW = 8192;
const PRICE = { input: 1.25, output: 10 };
const usdOf = (input: number, output: number) => (input * PRICE.input + output * PRICE.output) / 1e6;
const NARROW = { context_window: WINDOW, max_output_tokens: 1000, usd_per_million_tokens: PRICE };

const gateway = withGateway({
  config: {
    models: {
      // Only output has a price, so that a hold is exactly the output limit: 100 tokens at 1 USD
      // per million.
      exact: { usd_per_million_tokens: { input: 0, output: 1 } },
      plain: {},
      unknown: NARROW,
      counted: { ...NARROW, tokenizer: 'o200k_base' },
    },
  },
});

const LIMIT = 100;
const HOLD_USD = 0.0001;

test.each([false, true])(
  '12 at once whose provider reports 50 times the hold: the holds are charged, the rest is a loss (stream: %s)',
  async (stream) => {
    const { organizationId, key } = await gateway.stack.operator.customer({ credit: '0.00035' });
    const client = gatewayClient(gateway.stack.origin, key);
    const lostUsd = () => metric(gateway.stack.metricsOrigin, 'gateway_losses_usd_total', { reason: 'over_hold' });
    const chargedUsd = () => metric(gateway.stack.metricsOrigin, 'gateway_charged_usd_total', { model: 'exact' });
    const lostBefore = await lostUsd();
    const chargedBefore = await chargedUsd();
    const gate = createGate();
    const usage = { prompt_tokens: 10, completion_tokens: 50 * LIMIT };
    gateway.provider.script('exact', gate.before(stream ? streamAnswer({ usage }) : jsonAnswer({ usage })));
    const body = {
      model: 'exact',
      max_tokens: LIMIT,
      stream,
      ...(stream ? { stream_options: { include_usage: true } } : {}),
    };
    const asked = Array.from({ length: 12 }, () => client.chat(body));
    await gate.waitFor(3);
    gate.open();
    const answers = await Promise.all(asked);
    const served = answers.filter(({ status }) => status === 200);
    expect(served).toHaveLength(3);
    expect(new Set(answers.map(outcome))).toEqual(new Set(['200', '402 insufficient_credits']));
    expect(await gateway.stack.operator.balance(organizationId)).toBe(0.00005);

    for (const answer of served) {
      const last = stream ? JSON.parse(eventsOf(answer).at(-2) ?? '') : jsonOf(answer);
      expect(last.usage).toMatchObject({ completion_tokens: 50 * LIMIT, cost: HOLD_USD });
      const generation = await settledGeneration(client, String(answer.headers['x-generation-id']));
      expect(generation).toMatchObject({ total_cost: HOLD_USD, tokens_completion: 50 * LIMIT });
    }
    expect(await lossesOf(organizationId)).toEqual(
      served
        .map(({ headers }) => ({ generation_id: headers['x-generation-id'], reason: 'over_hold', usd: 0.0049 }))
        .toSorted((a, b) => String(a.generation_id).localeCompare(String(b.generation_id))),
    );
    await expect.poll(async () => (await lostUsd()) - lostBefore).toBeCloseTo(3 * 0.0049, 9);
    await expect.poll(async () => (await chargedUsd()) - (chargedBefore || 0)).toBeCloseTo(3 * HOLD_USD, 9);
    await gateway.stack.operator.verifyLedger();
  },
);

test('a usage of 2.2 times the hold, with credit only for the hold: the balance ends at 0', async () => {
  const { organizationId, key } = await gateway.stack.operator.customer({ credit: '0' });
  const client = gatewayClient(gateway.stack.origin, key);
  const body = { model: 'plain', max_tokens: LIMIT, messages: [{ role: 'user', content: '\u{1d160}'.repeat(2000) }] };
  const holdUsd = Number(errorOf(await client.chat(body)).metadata.estimated_usd);
  await gateway.stack.operator.credit(organizationId, holdUsd.toFixed(9));
  const tokens = Math.round(2.2 * holdUsd * 1e6);
  gateway.provider.script('plain', jsonAnswer({ usage: { prompt_tokens: tokens - 10, completion_tokens: 10 } }));
  const answer = await client.chat(body);
  expect(jsonOf<{ usage: { cost: number } }>(answer).usage.cost).toBe(holdUsd);
  expect(await gateway.stack.operator.balance(organizationId)).toBe(0);
  expect(await lossesOf(organizationId)).toMatchObject([
    { reason: 'over_hold', usd: expect.closeTo(1.2 * holdUsd, 5) },
  ]);
});

/** Gibberish, whose estimate is a quarter of its tokens. */
function textOf(characters: number, alphabet: string, wordLength: number): string {
  let state = 11;
  let text = '';
  while (text.length < characters) {
    state = (state * 48_271) % 2_147_483_647;
    text += text.length % (wordLength + 1) === wordLength ? ' ' : alphabet[state % alphabet.length];
  }
  return text;
}

const GIBBERISH = textOf(24_000, 'zvqkwxjbfgp', 7);
const REAL_TOKENS = countTokens(GIBBERISH);

test.each(['unknown', 'counted'])(
  'a text above the window never costs more than its hold, if its tokenizer is %s',
  async (model) => {
    expect(REAL_TOKENS).toBeGreaterThan(1.4 * WINDOW);
    gateway.provider.script(model, jsonAnswer({ usage: { prompt_tokens: REAL_TOKENS, completion_tokens: 1 } }));
    const body = { model, max_tokens: 1, messages: [{ role: 'user', content: GIBBERISH }] };
    for (const credit of [usdOf(WINDOW, 1), usdOf(REAL_TOKENS, 1) - 0.0001, usdOf(GIBBERISH.length + 200, 1), 1]) {
      const { organizationId, key } = await gateway.stack.operator.customer({ credit: credit.toFixed(9) });
      const client = gatewayClient(gateway.stack.origin, key);
      const received = await client.chat(body);
      await untilNothingHeld(client);
      const answered = outcome(received) === '200';
      if (!answered) expect(outcome(received)).toMatch(/^(400 context_length_exceeded|402 insufficient_credits)$/);
      // The hold covers all tokens that the provider read, so there is no loss.
      expect(await gateway.stack.operator.balance(organizationId)).toBeCloseTo(
        credit - (answered ? usdOf(REAL_TOKENS, 1) : 0),
        8,
      );
      if (credit <= usdOf(REAL_TOKENS, 1)) expect(answered).toBe(false);
      if (credit === 1) expect(answered).toBe(true);
    }
    await gateway.stack.operator.verifyLedger();
  },
);

test('a text whose bytes exceed the balance is served if a known tokenizer counts fewer tokens', async () => {
  const text = 'The quick brown fox jumps over the lazy dog. '.repeat(400);
  const tokens = countTokens(text);
  const credit = usdOf(tokens * 2, 1);
  expect(usdOf(text.length, 1)).toBeGreaterThan(credit);
  for (const [model, expected] of [
    ['counted', '200'],
    ['unknown', '402 insufficient_credits'],
  ] as const) {
    gateway.provider.script(model, jsonAnswer({ usage: { prompt_tokens: tokens, completion_tokens: 1 } }));
    const { key } = await gateway.stack.operator.customer({ credit: credit.toFixed(9) });
    const body = { model, max_tokens: 1, messages: [{ role: 'user', content: text }] };
    const received = await gatewayClient(gateway.stack.origin, key).chat(body);
    expect(outcome(received)).toBe(expected);
    // The ceiling may exceed the window, because every byte may be a token.
    if (received.status === 402) {
      expect(Number(errorOf(received).metadata.estimated_usd)).toBeGreaterThanOrEqual(usdOf(text.length, 1));
    }
  }
});

test('three times the bytes of a text are held if a tokenizer may normalize it to that length', async () => {
  const text = '\u{1d160}'.repeat(2000);
  const usage = { prompt_tokens: 18_000, completion_tokens: 1 };
  gateway.provider.script('unknown', jsonAnswer({ usage }), jsonAnswer({ usage }));
  const body = { model: 'unknown', max_tokens: 1, messages: [{ role: 'user', content: text }] };
  const poor = await gateway.stack.operator.customer({ credit: usdOf(17_000, 1).toFixed(9) });
  expect(outcome(await gatewayClient(gateway.stack.origin, poor.key).chat(body))).toBe('402 insufficient_credits');
  const able = await gateway.stack.operator.customer({ credit: usdOf(24_200, 1).toFixed(9) });
  expect(outcome(await gatewayClient(gateway.stack.origin, able.key).chat(body))).toBe('200');
  expect(await gateway.stack.operator.balance(able.organizationId)).toBeCloseTo(usdOf(24_200 - 18_000, 0), 8);
});

/** The losses that `ledger losses --json` prints, ordered by generation. */
async function lossesOf(organizationId: string) {
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const result = await runCommandLine(['ledger', 'losses', '--since', since], {
    DATABASE_URL: gateway.stack.databaseUrl,
  });
  if (result.kind !== 'done') throw new Error(result.message);
  return (result.json as Record<string, string | number>[])
    .filter(({ organization_id }) => organization_id === organizationId)
    .map(({ generation_id, reason, usd }) => ({ generation_id, reason, usd }))
    .toSorted((a, b) => String(a.generation_id).localeCompare(String(b.generation_id)));
}
