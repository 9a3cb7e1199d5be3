import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { pino } from 'pino';
import { afterAll, describe, expect, it } from 'vitest';
import type { GatewayConfig, Model } from '#core/config/gateway-config.ts';
import { isRefusal } from '#core/errors/refusal.ts';
import type { BoundTokens } from '#core/tokenizer.ts';
import { acceptedChat } from '#test/fixtures/chat-request.ts';
import { configWith, modelWith } from '#test/fixtures/gateway-config.ts';
import { principalWith } from '#test/fixtures/principal.ts';
import { finish } from '../fairness/steps.ts';
import type { ChatRequest } from './chat-request.ts';
import { chooseByCount, chooseModel } from './choose-model.ts';
import { TokenCounter } from './tokens/count-tokens.ts';

const counter = new TokenCounter({ log: pino({ level: 'silent' }), timeoutMs: 60_000 });
afterAll(() => counter.close());

const never: BoundTokens = () => {
  throw new Error('nothing is counted');
};

const chatOf = (content: string, more: object = {}) =>
  acceptedChat({ model: 'model-1', messages: [{ role: 'user', content }], ...more });

const principal = principalWith();
const configOf = (changes: Partial<Model>) => configWith(modelWith({ tokenizer: 'o200k_base', ...changes }));

async function choose(chat: ChatRequest, config: GatewayConfig, boundTokens: BoundTokens) {
  const chosen = await chooseModel(chat, principal, config, boundTokens, finish);
  if (chosen === undefined) throw new Error('the client left');
  return chosen;
}

/** The estimate of long words is too high. */
const CHEAP = 'internationalization '.repeat(400);
const TRUTH = encode(CHEAP).length;

describe('input whose estimate is too long', () => {
  const window = TRUTH + 100;

  it('is counted, and accepted if it fits', async () => {
    const chat = chatOf(CHEAP, { max_tokens: 50 });
    expect(chat.inputTokens.estimate).toBeGreaterThan(window);
    const chosen = await choose(chat, configOf({ contextWindow: window }), counter.boundTokens);
    if (isRefusal(chosen)) throw new Error(chosen.code);
    const { estimate, ceiling, normalizedCeiling } = chosen.chat.inputTokens;
    expect(estimate).toBeGreaterThanOrEqual(TRUTH);
    expect(estimate).toBeLessThanOrEqual(window - 50);
    // Frames of messages and what templates may add stay in the ceiling.
    expect(ceiling).toBeGreaterThanOrEqual(TRUTH + chat.inputTokens.besidesText.ceiling);
    expect(ceiling).toBeLessThan(TRUTH * 1.1 + 200);
    expect(normalizedCeiling).toBe(ceiling);
  });

  it('is refused with its count if that does not fit either', async () => {
    const chat = chatOf(CHEAP, { max_tokens: 200 });
    const refusal = await choose(chat, configOf({ contextWindow: window }), counter.boundTokens);
    expect(isRefusal(refusal) && refusal.code).toBe('context_length_exceeded');
    expect(isRefusal(refusal) && Number(refusal.values.estimated_tokens)).toBeLessThan(TRUTH * 1.05 + 220);
  });

  it.each([
    ['the tokenizer is not known', { tokenizer: 'bytes' as const }, never],
    ['it is far too long', { contextWindow: 300 }, never],
    ['it cannot be counted in time', {}, async () => undefined],
  ])('is refused without a count if %s', async (_, changes, boundTokens) => {
    const config = configOf({ contextWindow: window, ...changes });
    const refusal = await choose(chatOf(CHEAP), config, boundTokens);
    expect(isRefusal(refusal) && refusal.code).toBe('context_length_exceeded');
  });
});

it('input is not counted if it fits, nor a second time', async () => {
  const chosen = await choose(chatOf(CHEAP), configOf({}), never);
  if (isRefusal(chosen)) throw new Error(chosen.code);
  const counted = await chooseByCount(chosen.chat, principal, configOf({}), counter.boundTokens);
  if (counted === undefined || isRefusal(counted)) throw new Error('counted');
  expect(counted.chat.promptText()).toEqual(chosen.chat.promptText());
  expect(await chooseByCount(counted.chat, principal, configOf({}), never)).toBeUndefined();
});

it('a count does not change the ceiling of anything but text', async () => {
  const tools = [{ type: 'function', function: { name: 'find', description: 'x'.repeat(1000) } }];
  const chat = chatOf(CHEAP, { tools });
  const counted = await chooseByCount(chat, principal, configOf({}), counter.boundTokens);
  if (counted === undefined || isRefusal(counted)) throw new Error('counted');
  expect(counted.chat.inputTokens.ceiling).toBeGreaterThan(2000 + TRUTH);
  expect(counted.chat.inputTokens.ceiling).toBeLessThan(chat.inputTokens.ceiling);
});

it('near the window the whole text decides, because samples differ between processes', async () => {
  const chat = chatOf('Once upon a time, in 1987, there was a {"key": "value"} 狐狸. '.repeat(3000));
  const whole = finish(chat.wholeEstimate());
  const inWindow = (contextWindow: number) => choose(chat, configOf({ tokenizer: 'bytes', contextWindow }), never);
  const chosen = await inWindow(whole + 7);
  expect(isRefusal(chosen) || chosen.choice.outputLimit).toBe(7);
  const refusal = await inWindow(whole - 1);
  expect(isRefusal(refusal) && refusal.values.estimated_tokens).toBe(whole);
});

it('the choice is abandoned when the client leaves', async () => {
  const chat = chatOf('word '.repeat(3000));
  const left = await chooseModel(chat, principal, configOf({ contextWindow: 3000 }), never, async () => undefined);
  expect(left).toBeUndefined();
});
