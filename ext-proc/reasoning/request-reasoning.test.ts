import { describe, expect, it } from 'vitest';
import { systemClock } from '#core/clock.ts';
import type { Target } from '#core/config/gateway-config.ts';
import { isRefusal } from '#core/errors/refusal.ts';
import type { JsonObject } from '#core/json-object.ts';
import { readChatRequest } from '#test/fixtures/chat-request.ts';
import type { ChatRequest } from '../chat/chat-request.ts';
import type { ModelChoice } from '../chat/check-model.ts';
import { admittedRequest, provider } from '../delivery/admitted-request.fixture.ts';
import { SharedBudget } from '../fairness/shared-budget.ts';
import { ValidationTurns } from '../fairness/validation-turns.ts';
import { createMemoryReasoningStore } from '../limits/reasoning/memory-reasoning-store.ts';
import { REASONING_BOUNDS } from '../limits/reasoning/reasoning-store.ts';
import { createKeptReasoning } from './kept-reasoning.ts';
import { findReasoning } from './request-reasoning.ts';

const OPENAI: Target = { provider: provider('openai'), model: 'gpt', api: 'responses' };
const AZURE: Target = { provider: provider('azure'), model: 'gpt', api: 'responses' };
const DETAILS = [{ type: 'reasoning.encrypted', id: 'rs_1', data: 'x'.repeat(2_000), format: 'f', index: 0 }];
const FOUND = [{ message: 1, json: Buffer.from(JSON.stringify(DETAILS)) }];
const DEEPSEEK: Target = {
  provider: { ...provider('deepseek'), reasoningMemory: 'reasoning_content' },
  ...{ model: 'deepseek-flash', api: 'chat' },
};
const TEXT = 'I look. '.repeat(250);
const FOUND_TEXT = [{ message: 1, json: Buffer.from(JSON.stringify(TEXT)) }];
const CALL = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };
const ANSWER = { role: 'tool', tool_call_id: 'call_1', content: 'seen' };
const TURN: readonly JsonObject[] = [
  { role: 'user', content: 'Look' },
  { role: 'assistant', content: null, tool_calls: [CALL] },
  ANSWER,
];
const MARKED = { type: 'text', text: 'Look', cache_control: { type: 'ephemeral' } };
const BODY = { model: 'm', tools: [{ type: 'function', function: { name: 'look' } }] };

function chatRequest(body: JsonObject): ChatRequest {
  const chat = readChatRequest(Buffer.from(JSON.stringify(body)), undefined);
  if (isRefusal(chat)) throw new Error(chat.code);
  return chat;
}

function withStore(targets: readonly Target[] = [OPENAI], more: Partial<ModelChoice['model']> = {}) {
  const store = createMemoryReasoningStore({ bounds: REASONING_BOUNDS, clock: systemClock, onEvicted: () => {} });
  const kept = createKeptReasoning({ store, turns: new ValidationTurns(), onResult: () => {}, onFault: () => {} });
  const model = { ...admittedRequest().model, contextWindow: 100_000, targets, ...more };
  const memory = new SharedBudget(100_000).open('org-1');
  const find = (messages: readonly JsonObject[], more: JsonObject = {}) =>
    findReasoning(kept, {
      chat: chatRequest({ ...BODY, messages, ...more }),
      choice: { model, outputLimit: 100, heldOutputTokens: 100, leastOutputTokens: 1 },
      organizationId: 'org-1',
      apiKey: 'sk-gw-one',
      memory,
      gone: () => new AbortController().signal,
    });
  return { find, memory, close: () => store.close() };
}

/** A store that has kept the reasoning of `TURN`. */
async function afterTurn(...given: Parameters<typeof withStore>) {
  const store = withStore(...given);
  const { reasoning } = await store.find(TURN.slice(0, 1));
  const [targets = [OPENAI]] = given;
  for (const target of targets) {
    const message = reasoning?.messageOf(target);
    message?.take([{ message: { tool_calls: [CALL], reasoning_details: DETAILS, reasoning_content: TEXT } }]);
    await reasoning?.keep(message, target);
  }
  return store;
}

describe('the reasoning of a request', () => {
  it('is inserted into the message with its calls', async () => {
    const { find, close } = await afterTurn();
    const { reasoning } = await find(TURN);
    expect(reasoning?.of(OPENAI)).toEqual(FOUND);
    close();
  });

  it('goes to no other target, whose account or model cannot read it', async () => {
    const chatOnly: Target = { ...OPENAI, api: 'chat' };
    const { find, close } = await afterTurn();
    const { chat, reasoning } = await find(TURN);
    expect(reasoning?.of(chatOnly)).toEqual([]);
    expect(reasoning?.of(AZURE)).toEqual([]);
    expect(reasoning?.of({ ...OPENAI, model: 'gpt-other' })).toEqual([]);
    expect(chat.tokensOmitted()).toBe(0);
    close();
  });

  it('is part of the hold, as if the client had sent it', async () => {
    const { find, memory, close } = await afterTurn();
    const without = chatRequest({ ...BODY, messages: TURN }).inputTokens;
    const sent = TURN.with(1, { ...TURN[1], reasoning_details: DETAILS });
    const asSent = chatRequest({ ...BODY, messages: sent }).inputTokens;
    const { chat, reasoning } = await find(TURN);
    for (const bound of ['estimate', 'ceiling', 'normalizedCeiling'] as const) {
      expect(asSent[bound]).toBeGreaterThan(without[bound] + 500);
      expect(chat.inputTokens[bound]).toBeGreaterThanOrEqual(asSent[bound]);
      expect(chat.inputTokens.besidesText.ceiling).toBeGreaterThanOrEqual(asSent.besidesText.ceiling);
    }
    reasoning?.of(OPENAI);
    expect(chat.tokensOmitted()).toBe(chat.inputTokens.estimate - without.estimate);
    expect(memory.heldBytes).toBeGreaterThanOrEqual(JSON.stringify(DETAILS).length);
    close();
  });

  it('is freed with the body', async () => {
    const { find, close } = await afterTurn();
    const { chat, reasoning } = await find(TURN);
    chat.keepText(0);
    expect(reasoning?.of(OPENAI)).toEqual([]);
    close();
  });

  it('is the text that a provider of chat completions requires in every message', async () => {
    const { find, memory, close } = await afterTurn([DEEPSEEK]);
    const spoken = [...TURN, { role: 'user', content: 'And now?' }];
    const sent = spoken.with(1, { ...TURN[1], reasoning_content: TEXT });
    const asSent = chatRequest({ ...BODY, messages: sent }).inputTokens;
    const { chat, reasoning } = await find(spoken);
    for (const bound of ['estimate', 'ceiling', 'normalizedCeiling'] as const)
      expect(chat.inputTokens[bound]).toBeGreaterThanOrEqual(asSent[bound]);
    expect(memory.heldBytes).toBeGreaterThanOrEqual(JSON.stringify(TEXT).length);
    expect(reasoning?.of(DEEPSEEK)).toEqual(FOUND_TEXT);
    const without = chatRequest({ ...BODY, messages: spoken }).inputTokens;
    expect(chat.tokensOmitted()).toBeGreaterThan(asSent.estimate - without.estimate - 3);
    expect(chat.tokensOmitted()).toBeLessThanOrEqual(chat.inputTokens.estimate - without.estimate);
    for (const other of [
      { ...DEEPSEEK, model: 'deepseek-pro' },
      { ...DEEPSEEK, provider: { ...DEEPSEEK.provider, name: 'host' } },
      { ...DEEPSEEK, api: 'anthropic' as const },
      { ...DEEPSEEK, provider: provider('deepseek') },
    ])
      expect(reasoning?.of(other)).toEqual([]);
    expect((await find(sent)).reasoning?.of(DEEPSEEK)).toEqual([]);
    close();
  });

  it('is a space, which is part of the hold, if it was lost', async () => {
    const { find, close } = withStore([DEEPSEEK]);
    const messages = TURN.with(1, { ...TURN[1], reasoning_content: '' });
    const asSent = chatRequest({ ...BODY, messages: TURN.with(1, { ...TURN[1], reasoning_content: ' ' }) }).inputTokens;
    const { chat, reasoning } = await find(messages);
    expect(chat.inputTokens.ceiling).toBeGreaterThanOrEqual(asSent.ceiling);
    expect(chat.inputTokens.estimate).toBeGreaterThanOrEqual(asSent.estimate);
    expect(reasoning?.of(DEEPSEEK)).toEqual([]);
    expect(chat.tokensOmitted()).toBeGreaterThan(0);
    reasoning?.of(OPENAI);
    expect(chat.tokensOmitted()).toBe(0);
    close();
  });

  it('goes to each target of a model in the form of that target', async () => {
    const { find, close } = await afterTurn([OPENAI, DEEPSEEK]);
    // Both have answered the same calls, so neither reasoning is known to be that of the message.
    expect((await find(TURN)).reasoning?.of(DEEPSEEK)).toEqual([]);
    close();
    const store = withStore([OPENAI, DEEPSEEK]);
    const { reasoning } = await store.find(TURN.slice(0, 1));
    const message = reasoning?.messageOf(DEEPSEEK);
    message?.take([{ message: { tool_calls: [CALL], reasoning_content: TEXT } }]);
    await reasoning?.keep(message, DEEPSEEK);
    const found = (await store.find(TURN)).reasoning;
    expect(found?.of(OPENAI)).toEqual([]);
    expect(found?.of(DEEPSEEK)).toEqual(FOUND_TEXT);
    store.close();
  });

  it('is not kept if several completions were requested', async () => {
    const { find, close } = withStore([DEEPSEEK]);
    expect((await find(TURN)).reasoning?.messageOf(DEEPSEEK)).toBeDefined();
    expect((await find(TURN, { n: 2 })).reasoning?.messageOf(DEEPSEEK)).toBeUndefined();
    close();
  });

  it.each([
    ['the user has spoken since', [...TURN, { role: 'user', content: 'And now?' }]],
    ['the client has sent it', TURN.with(1, { ...TURN[1], reasoning_details: DETAILS })],
    ['the calls are others', TURN.with(1, { ...TURN[1], tool_calls: [{ ...CALL, id: 'call_2' }] })],
  ])('is unchanged if %s', async (_, messages) => {
    const { find, close } = await afterTurn();
    const { chat, reasoning } = await find(messages);
    expect(reasoning?.of(OPENAI)).toEqual([]);
    expect(chat.inputTokens).toEqual(chatRequest({ ...BODY, messages }).inputTokens);
    close();
  });

  const OTHER = { ...DETAILS[0], id: 'rs_2', index: 2 };
  const returned = (...details: readonly object[]) => TURN.with(1, { ...TURN[1], reasoning_details: details });

  it.each([
    ['the last entry', [OTHER], DETAILS],
    ['the last entry, in another order of members', [Object.fromEntries(Object.entries(OTHER).toReversed())], DETAILS],
    ['an entry of its own', [{ ...OTHER, id: 'rs_3' }], undefined],
    ['both, the last first', [OTHER, ...DETAILS], undefined],
  ])('is what lacks beside what the client has sent: %s', async (_, sent, missing) => {
    const { find, close } = withStore();
    const { reasoning } = await find(TURN.slice(0, 1));
    const message = reasoning?.messageOf(OPENAI);
    message?.take([{ message: { tool_calls: [CALL], reasoning_details: [...DETAILS, OTHER] } }]);
    await reasoning?.keep(message, OPENAI);
    const found = await find(returned(...sent));
    const added = found.reasoning?.of(OPENAI).map(({ json }) => JSON.parse(json.toString()));
    expect(added).toEqual(missing === undefined ? [] : [missing]);
    const whole = chatRequest({ ...BODY, messages: returned(...DETAILS, ...sent) }).inputTokens;
    const { estimate } =
      missing === undefined ? chatRequest({ ...BODY, messages: returned(...sent) }).inputTokens : whole;
    expect(Math.abs(found.chat.inputTokens.estimate - estimate)).toBeLessThanOrEqual(10);
    close();
  });

  it('has the phase of its message, also without details', async () => {
    const { find, close } = withStore();
    const { reasoning } = await find(TURN.slice(0, 1));
    const message = reasoning?.messageOf(OPENAI);
    for (const delta of [{ phase: 'commentary' }, { content: 'I look.' }, { tool_calls: [{ index: 0, ...CALL }] }])
      message?.take([{ delta }]);
    await reasoning?.keep(message, OPENAI);
    expect((await find(TURN)).reasoning?.of(OPENAI)).toEqual([
      { message: 1, phase: 'commentary', json: Buffer.from('[]') },
    ]);
    close();
  });

  it.each<[string, readonly JsonObject[]]>([
    ['in parts, with a marker of the cache', TURN.with(0, { role: 'user', content: [MARKED] })],
    ['after another prompt of the system', [{ role: 'system', content: 'Be brief.' }, ...TURN]],
  ])('is found if the client sends the conversation %s', async (_, messages) => {
    const { find, close } = await afterTurn();
    const message = messages.findIndex(({ role }) => role === 'assistant');
    expect((await find(messages)).reasoning?.of(OPENAI)).toMatchObject([{ message }]);
    close();
  });

  it('belongs to its conversation: the same calls after another message have none', async () => {
    const { find, close } = await afterTurn();
    const other = TURN.with(0, { role: 'user', content: 'Look!' });
    expect((await find(other)).reasoning?.of(OPENAI)).toEqual([]);
    const loop = [...TURN, { role: 'assistant', content: null, tool_calls: [CALL] }, ANSWER];
    expect((await find(loop)).reasoning?.of(OPENAI)).toMatchObject([{ message: 1 }]);
    close();
  });

  it('belongs to its step in a loop: each message after a tool result has its own', async () => {
    const { find, close } = await afterTurn();
    const { reasoning } = await find(TURN);
    const message = reasoning?.messageOf(OPENAI);
    const next = DETAILS.map((detail) => ({ ...detail, id: 'rs_2' }));
    message?.take([{ message: { tool_calls: [CALL], reasoning_details: next } }]);
    await reasoning?.keep(message, OPENAI);
    const loop = [...TURN, { role: 'assistant', content: null, tool_calls: [CALL] }, ANSWER];
    const found = (await find(loop)).reasoning
      ?.of(OPENAI)
      .map(({ message, json }) => [message, JSON.parse(json.toString())]);
    expect(found?.toSorted()).toEqual([
      [1, DETAILS],
      [3, next],
    ]);
    close();
  });

  it.each([null, []])('is found if the client sends %j for it', async (empty) => {
    const { find, close } = await afterTurn();
    const messages = TURN.with(1, { ...TURN[1], reasoning_details: empty });
    const { reasoning } = await find(messages);
    expect(reasoning?.of(OPENAI)).toEqual(FOUND);
    close();
  });

  it('makes no request longer than the context window, and needs memory', async () => {
    const long = await afterTurn([OPENAI], { contextWindow: 500 });
    const { chat, reasoning } = await long.find(TURN);
    expect(reasoning?.of(OPENAI)).toEqual([]);
    expect(chat.inputTokens).toEqual(chatRequest({ ...BODY, messages: TURN }).inputTokens);
    long.close();
    const full = await afterTurn();
    full.memory.take(50_000);
    expect((await full.find(TURN)).reasoning?.of(OPENAI)).toEqual([]);
    full.close();
  });

  it('is not looked up if all targets speak chat completions', async () => {
    const { find, close } = withStore([{ ...OPENAI, api: 'chat' }]);
    expect(await find(TURN)).not.toHaveProperty('reasoning');
    close();
  });
});
