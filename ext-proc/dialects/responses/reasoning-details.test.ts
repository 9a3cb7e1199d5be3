import fc from 'fast-check';
import type { Response, ResponseOutputItem } from 'openai/resources/responses/responses';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '#core/json-object.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { wholeOf } from '../dialect-checks.fixture.ts';
import { arbitraryResponse } from './arbitrary-response.fixture.ts';
import { gather } from './gathered-stream.fixture.ts';
import { inputItems } from './input-items.ts';
import { RESPONSES } from './responses.ts';
import {
  CALL_AFTER_TEXT,
  functionCall,
  message,
  ONLY_REASONING,
  OPEN_REASONING,
  PARALLEL_CALLS,
  reasoning,
  responseWith,
} from './scenarios.fixture.ts';
import { scripted, translated } from './scripted-stream.fixture.ts';

const said = (response: Response): JsonObject => wholeOf(RESPONSES, response).message;

/** Items of the next turn for a message that comes back: the whole one, or the streamed one. */
function returned(response: Response): { whole: JsonObject[]; streamed: JsonObject[] } {
  const streamed = gather(translated(scripted(response))).message;
  return { whole: inputItems([said(response)]), streamed: inputItems([streamed]) };
}

/** Item as it is sent again: without the ids and states that the provider has not stored. */
function again(item: ResponseOutputItem): JsonObject {
  switch (item.type) {
    case 'reasoning':
      return { ...item };
    case 'function_call':
      return { type: item.type, call_id: item.call_id, name: item.name, arguments: item.arguments };
    case 'custom_tool_call':
      return { type: item.type, call_id: item.call_id, name: item.name, input: item.input };
    default:
      return item.type === 'message' ? { type: 'message', role: 'assistant' } : {};
  }
}

/** Messages count by their place: their texts are joined. */
function kinds(items: readonly JsonObject[]): JsonObject[] {
  return items.map((item) => (item.type === 'message' ? { type: 'message', role: 'assistant' } : item));
}

describe('reasoning of a turn in the next turn', () => {
  test.each([
    ['before parallel calls', PARALLEL_CALLS],
    ['before text and before calls', CALL_AFTER_TEXT],
  ])('is at its former place, with all its members: %s', (_, response) => {
    const { whole, streamed } = returned(response);
    expect(kinds(whole)).toEqual(response.output.map(again));
    expect(streamed).toEqual(whole);
  });

  test('is at its former place for any response', () => {
    fc.assert(
      fc.property(arbitraryResponse, (response) => {
        const { whole, streamed } = returned(response);
        expect(streamed).toEqual(whole);
        const isKept = (item: JsonObject) => item.type !== 'reasoning' || typeof item.encrypted_content === 'string';
        const sent = response.output.map(again).filter(isKept);
        // Texts of two messages become one, at the place of the first.
        const first = sent.findIndex((item) => item.type === 'message');
        const expected = sent.filter((item, at) => item.type !== 'message' || at === first);
        if (expected.at(-1)?.type === 'reasoning') return;
        const withoutEmpty = (item: JsonObject) => ({ ...item, summary: filled(item.summary) });
        expect(kinds(whole).map(withoutEmpty)).toEqual(expected.map(withoutEmpty));
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  function filled(summary: unknown): unknown {
    return Array.isArray(summary) ? summary.filter(({ text }) => text !== '') : summary;
  }

  test('of an open model is sent back as text', () => {
    const [item] = returned(OPEN_REASONING).whole;
    expect(item).toMatchObject({
      type: 'reasoning',
      summary: [],
      content: [{ type: 'reasoning_text', text: 'The user says hello.\n\nI answer.' }],
    });
  });

  test('is not sent if no item follows it', () => {
    expect(returned(ONLY_REASONING).whole).toEqual([]);
    const cut = responseWith([message('Hi'), reasoning([], 'gAAAAAB-last')], { status: 'incomplete' });
    expect(returned(cut).whole.map(({ type }) => type)).toEqual(['reasoning', 'message']);
  });

  test('is sent if a client has dropped the text or some of the calls', () => {
    const message = said(CALL_AFTER_TEXT);
    const types = (message: JsonObject) => inputItems([message]).map(({ type }) => type);
    const calls = ['reasoning', 'function_call', 'reasoning', 'reasoning', 'custom_tool_call'];
    expect(types({ ...message, content: null })).toEqual(calls);
    expect(types({ ...message, tool_calls: [] })).toEqual(['reasoning', 'reasoning', 'reasoning', 'message']);
  });

  test('of another API or in another form is left out', () => {
    const message = said(responseWith([reasoning([], 'gAAAAAB'), functionCall('call_1', 'f', '{}')]));
    const [entry] = message.reasoning_details as [JsonObject];
    const others = [
      { ...entry, format: 'anthropic-claude-v1' },
      { ...entry, data: 7 },
      { ...entry, id: null },
      null,
      'x',
    ];
    expect(inputItems([{ ...message, reasoning_details: others }])).toHaveLength(1);
    expect(inputItems([{ ...message, reasoning_details: { 0: entry } }])).toHaveLength(1);
    expect(inputItems([{ ...message, reasoning_details: [entry] }])).toHaveLength(2);
  });
});
