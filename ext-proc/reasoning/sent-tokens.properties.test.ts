import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Target } from '#core/config/gateway-config.ts';
import { isRefusal } from '#core/errors/refusal.ts';
import type { JsonObject } from '#core/json-object.ts';
import { readChatRequest } from '#test/fixtures/chat-request.ts';
import type { ChatRequest } from '../chat/chat-request.ts';
import { admittedRequest, provider } from '../delivery/admitted-request.fixture.ts';
import { promptTokensOf, sentEstimate } from '../delivery/response/response-meter.ts';
import { finish } from '../fairness/steps.ts';
import { tokensOf } from './reasoning-tokens.ts';
import { findReasoning } from './request-reasoning.ts';

const REMEMBERING = ['first', 'second'].map(
  (name): Target => ({
    provider: { ...provider(name), reasoningMemory: 'reasoning_content' },
    ...{ model: name, api: 'chat' },
  }),
);
const PLAIN: Target = { provider: provider('plain'), model: 'plain', api: 'chat' };
const TARGETS = [...REMEMBERING, PLAIN];
/** The parts are counted one by one. */
const ROUNDING = 8;
const IMAGE = { type: 'image_url', image_url: { url: 'https://images.example/1.png' } };

/**
 * Texts whose tokens have very different lengths. A whole prompt stays below 32 KiB: above, an
 * estimate is made from samples of the body, and those of two bodies differ.
 */
const text = fc
  .tuple(fc.constantFrom('word ', '世界', '7', '{"a":[', ' '), fc.integer({ min: 1, max: 600 }))
  .map(([piece, times]) => piece.repeat(times));
/** A turn of a conversation, and which target has kept its reasoning, if one has. */
const turn = fc.record({ reasoning: text, keptBy: fc.constantFrom(0, 1, undefined) });

function chatRequest(messages: readonly JsonObject[]): ChatRequest {
  const chat = readChatRequest(Buffer.from(JSON.stringify({ model: 'm', messages })), undefined);
  if (isRefusal(chat)) throw new Error(chat.code);
  return chat;
}

test('the estimate of a prompt is the estimate of what was sent to its target', () =>
  fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 6 }), fc.boolean(), async (turns, hasImage) => {
      const messages = turns.flatMap((_, at): JsonObject[] => [
        { role: 'user', content: hasImage ? [{ type: 'text', text: 'Look' }, IMAGE] : 'Look' },
        { role: 'assistant', tool_calls: [{ id: `${at}`, type: 'function', function: { name: 'f', arguments: '' } }] },
        { role: 'tool', tool_call_id: `${at}`, content: 'seen' },
      ]);
      const kept = turns.flatMap(({ reasoning, keptBy }, at) =>
        keptBy === undefined
          ? []
          : [{ message: 3 * at + 1, json: Buffer.from(JSON.stringify(reasoning)), from: TARGETS[keptBy] as Target }],
      );
      const memory = {
        keep: async () => undefined,
        find: async () =>
          kept.map(({ message, json, from: { provider, model } }) => ({
            ...{ message, json, provider: provider.name, model },
            ...{ member: 'reasoning_content' as const, tokens: finish(tokensOf(json)) },
          })),
      };
      const model = { ...admittedRequest().model, contextWindow: 1_000_000, targets: TARGETS };
      const { chat, reasoning } = await findReasoning(memory, {
        chat: chatRequest(messages),
        choice: { model, outputLimit: 100, heldOutputTokens: 100, leastOutputTokens: 1 },
        ...{ organizationId: 'org-1', apiKey: 'sk-gw-one', memory: { take: () => true } },
        gone: () => new AbortController().signal,
      });
      for (const target of TARGETS) {
        const added = reasoning?.of(target) ?? [];
        const texts = new Map(added.map(({ message, json }) => [message, JSON.parse(json.toString()) as string]));
        const sent = messages.map((message, at) =>
          target === PLAIN || message.role !== 'assistant'
            ? message
            : { ...message, reasoning_content: texts.get(at) ?? ' ' },
        );
        const { estimate } = chatRequest(sent).inputTokens;
        expect(Math.abs(sentEstimate(chat) - estimate)).toBeLessThanOrEqual(target === PLAIN ? 0 : ROUNDING);
        // Nobody has counted the text.
        if (hasImage) expect(promptTokensOf(chat, 0)).toBe(sentEstimate(chat));
        expect(sentEstimate(chat)).toBeLessThanOrEqual(chat.inputTokens.estimate);
      }
    }),
  ));
