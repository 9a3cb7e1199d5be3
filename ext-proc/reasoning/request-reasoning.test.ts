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
import { createMemoryReasoningStore } from '../limits/reasoning/memory-reasoning-store.ts';
import { REASONING_BOUNDS } from '../limits/reasoning/reasoning-store.ts';
import { createKeptReasoning } from './kept-reasoning.ts';
import { ProducedMessage } from './produced-message.ts';
import { findReasoning } from './request-reasoning.ts';

const OPENAI: Target = { provider: provider('openai'), model: 'gpt', api: 'responses' };
const AZURE: Target = { provider: provider('azure'), model: 'gpt', api: 'responses' };
const DETAILS = [{ type: 'reasoning.encrypted', id: 'rs_1', data: 'x'.repeat(2_000), format: 'f', index: 0 }];
const FOUND = [{ message: 1, details: DETAILS }];
const CALL = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };
const ANSWER = { role: 'tool', tool_call_id: 'call_1', content: 'seen' };
const TURN: readonly JsonObject[] = [
  { role: 'user', content: 'Look' },
  { role: 'assistant', content: null, tool_calls: [CALL] },
  ANSWER,
];
const BODY = { model: 'm', tools: [{ type: 'function', function: { name: 'look' } }] };

function chatRequest(body: JsonObject): ChatRequest {
  const chat = readChatRequest(Buffer.from(JSON.stringify(body)), undefined);
  if (isRefusal(chat)) throw new Error(chat.code);
  return chat;
}

function withStore(targets: readonly Target[] = [OPENAI], more: Partial<ModelChoice['model']> = {}) {
  const store = createMemoryReasoningStore({ bounds: REASONING_BOUNDS, clock: systemClock, onEvicted: () => {} });
  const kept = createKeptReasoning({ store, onResult: () => {}, onFault: () => {} });
  const model = { ...admittedRequest().model, contextWindow: 100_000, targets, ...more };
  const memory = new SharedBudget(100_000).open('org-1');
  const find = (messages: readonly JsonObject[]) =>
    findReasoning(kept, {
      chat: chatRequest({ ...BODY, messages }),
      choice: { model, outputLimit: 100, heldOutputTokens: 100, leastOutputTokens: 1 },
      organizationId: 'org-1',
      apiKey: 'sk-gw-one',
      memory,
    });
  return { find, memory, close: () => store.close() };
}

function produced(): ProducedMessage {
  const message = new ProducedMessage();
  message.take([{ message: { tool_calls: [CALL], reasoning_details: DETAILS } }]);
  return message;
}

/** A store that has kept the reasoning of `TURN`. */
async function afterTurn(...given: Parameters<typeof withStore>) {
  const store = withStore(...given);
  const { reasoning } = await store.find(TURN.slice(0, 1));
  await reasoning?.keep(produced(), OPENAI);
  return store;
}

describe('the reasoning of a request', () => {
  it('is put into the message whose calls it belongs to', async () => {
    const { find, close } = await afterTurn();
    const { reasoning } = await find(TURN);
    expect(reasoning?.of(OPENAI)).toEqual(FOUND);
    close();
  });

  it('goes to no other target, whose account or model cannot read it', async () => {
    const chatOnly: Target = { ...OPENAI, api: 'chat' };
    const { find, close } = await afterTurn([OPENAI, AZURE, chatOnly]);
    const { chat, reasoning } = await find(TURN);
    expect(reasoning?.of(chatOnly)).toEqual([]);
    expect(reasoning?.of(AZURE)).toEqual([]);
    expect(reasoning?.of({ ...OPENAI, model: 'gpt-other' })).toEqual([]);
    expect(chat.tokensOmitted()).toBe(0);
    close();
  });

  it('is held for as if the client had sent it', async () => {
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
    expect(memory.heldBytes).toBe(JSON.stringify(DETAILS).length);
    close();
  });

  it('is free with the body', async () => {
    const { find, close } = await afterTurn();
    const { chat, reasoning } = await find(TURN);
    chat.keepText(0);
    expect(reasoning?.of(OPENAI)).toEqual([]);
    close();
  });

  it.each([
    ['the user has spoken since', [...TURN, { role: 'user', content: 'And now?' }]],
    ['the client has sent it', TURN.with(1, { ...TURN[1], reasoning_details: DETAILS })],
    ['the calls are others', TURN.with(1, { ...TURN[1], tool_calls: [{ ...CALL, id: 'call_2' }] })],
  ])('is left alone where %s', async (_, messages) => {
    const { find, close } = await afterTurn();
    const { chat, reasoning } = await find(messages);
    expect(reasoning?.of(OPENAI)).toEqual([]);
    expect(chat.inputTokens).toEqual(chatRequest({ ...BODY, messages }).inputTokens);
    close();
  });

  it.each([null, []])('is found where the client sends %j for it', async (empty) => {
    const { find, close } = await afterTurn();
    const messages = TURN.with(1, { ...TURN[1], reasoning_details: empty });
    const { reasoning } = await find(messages);
    expect(reasoning?.of(OPENAI)).toEqual(FOUND);
    close();
  });

  it('makes no request longer than the context window, and takes no memory that is not there', async () => {
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

  it('is none where all targets speak chat completions', async () => {
    const { find, close } = withStore([{ ...OPENAI, api: 'chat' }]);
    expect(await find(TURN)).not.toHaveProperty('reasoning');
    close();
  });
});
