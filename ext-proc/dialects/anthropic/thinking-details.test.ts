import type { ContentBlock } from '@anthropic-ai/sdk/resources/messages/messages';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '#core/json-object.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { wholeOf } from '../dialect-checks.fixture.ts';
import { arbitraryPlaces, cutAt } from '../responses/arbitrary-response.fixture.ts';
import { gather } from '../responses/gathered-stream.fixture.ts';
import { ANTHROPIC } from './anthropic.ts';
import { arbitraryMessage } from './arbitrary-message.fixture.ts';
import { conversationOf } from './conversation.ts';
import {
  INTERLEAVED,
  messageWith,
  OMITTED_THINKING,
  PARALLEL_CALLS,
  redacted,
  text,
  thinking,
  toolUse,
} from './scenarios.fixture.ts';
import { scripted, translated } from './scripted-stream.fixture.ts';

const HI = { role: 'user', content: 'Hi' };

/** Blocks of an assistant's message in the next turn, as they are sent. */
function blocksFor(message: unknown): JsonObject[] {
  const [, turn] = conversationOf([HI, message, HI]).turns;
  return turn?.role === 'assistant' ? JSON.parse(JSON.stringify(turn.content)) : [];
}

const said = (message: object): JsonObject => wholeOf(ANTHROPIC, message).message;

describe('thinking in the next turn', () => {
  /** The same block without what only the answer has. */
  function again(block: ContentBlock): object {
    if (block.type === 'text') return { type: 'text', text: block.text };
    return block.type === 'tool_use' ? { type: 'tool_use', id: block.id, name: block.name, input: block.input } : block;
  }

  test('is at its former place, signed and whole', () => {
    expect(blocksFor(said(INTERLEAVED))).toEqual(INTERLEAVED.content.map(again));
    expect(blocksFor(gather(translated(scripted(INTERLEAVED))).message)).toEqual(INTERLEAVED.content.map(again));
  });

  /** Blocks in the order in which a model makes them: its text comes before any call. */
  const ordered = fc.tuple(arbitraryMessage, fc.nat(6)).map(([message, place]) => {
    const others = message.content.filter(({ type }) => type !== 'text');
    const calls = others.findIndex(({ type }) => type === 'tool_use');
    const at = Math.min(place, calls === -1 ? others.length : calls);
    const content = [...others.slice(0, at), text('Words.'), ...others.slice(at), toolUse('toolu_last', 'f', {})];
    return { ...message, content };
  });

  test('of any message is at its former place, from streams too', () => {
    fc.assert(
      fc.property(ordered, arbitraryPlaces, (message, places) => {
        const expected = message.content.map(again);
        expect(blocksFor(said(message))).toEqual(expected);
        expect(blocksFor(gather(translated(scripted(message, cutAt(places)))).message)).toEqual(expected);
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  test('without a text is sent back with its signature', () => {
    expect(blocksFor(said(OMITTED_THINKING))).toEqual([thinking('', 'sig-only'), { type: 'text', text: 'Hello.' }]);
  });

  test('is not sent if no block follows it', () => {
    expect(blocksFor(said(messageWith([thinking('Hm.', 'sig')], 'max_tokens')))).toEqual([]);
    const cut = messageWith([text('Hi'), redacted('x')], 'max_tokens');
    expect(blocksFor(said(cut)).map(({ type }) => type)).toEqual(['redacted_thinking', 'text']);
  });

  test('is sent if a client has dropped the text or the calls', () => {
    const message = messageWith([thinking('1', 's'), text('Hi'), thinking('2', 's'), toolUse('toolu_1', 'f', {})]);
    const types = (more: object) => blocksFor({ ...said(message), ...more }).map(({ type }) => type);
    expect(types({})).toEqual(['thinking', 'text', 'thinking', 'tool_use']);
    expect(types({ content: null })).toEqual(['thinking', 'thinking', 'tool_use']);
    expect(types({ tool_calls: [] })).toEqual(['thinking', 'thinking', 'text']);
  });

  test('is ordered by its index', () => {
    const message = said(INTERLEAVED);
    const details = (message.reasoning_details as JsonObject[]).toReversed();
    expect(blocksFor({ ...message, reasoning_details: details })).toEqual(blocksFor(message));
  });

  test('of another API or in another form is left out', () => {
    const message = said(PARALLEL_CALLS);
    const [entry] = message.reasoning_details as [JsonObject];
    const others = [
      { ...entry, format: 'openai-responses-v1' },
      ...[{ ...entry, signature: null }, { ...entry, text: 7 }, { ...entry, type: 'reasoning.encrypted' }, null, 'x'],
    ];
    const typesOf = (reasoning_details: unknown) =>
      blocksFor({ ...message, reasoning_details }).map(({ type }) => type);
    expect(typesOf(others)).toEqual(['text', 'tool_use', 'tool_use']);
    expect(typesOf({ 0: entry })).toEqual(['text', 'tool_use', 'tool_use']);
    expect(typesOf([{ ...entry, index: 'x' }])).toEqual(['thinking', 'text', 'tool_use', 'tool_use']);
  });
});
