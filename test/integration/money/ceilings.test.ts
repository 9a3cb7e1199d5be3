import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, test } from 'vitest';
import { errorOf, gatewayClient, outcome, untilNothingHeld } from '../../harness/gateway-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { jsonAnswer } from '../../provider/acts.ts';

/**
 * Context windows below the provider's, as an operator may set them to cap cost. The provider still
 * reads and bills everything that it is sent.
 */
const WINDOW = 8192;
const PRICE = { input: 1.25, output: 10 };
const usdOf = (input: number, output: number) => (input * PRICE.input + output * PRICE.output) / 1e6;

const gateway = withGateway(() => {
  const model = { context_window: WINDOW, max_output_tokens: 1000, usd_per_million_tokens: PRICE };
  return {
    config: {
      models: { unknown: model, counted: { ...model, tokenizer: 'o200k_base' } },
    },
  };
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
