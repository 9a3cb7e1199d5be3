import type { RawContentBlockDelta, RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages/messages';
import { describe, expect, test } from 'vitest';
import { ANTHROPIC } from './anthropic.ts';
import { SCENARIOS } from './scenarios.fixture.ts';
import { scripted, translated } from './scripted-stream.fixture.ts';

/** Every event of the official types. */
const EVENTS = [
  ...['message_start', 'message_delta', 'message_stop'],
  ...['content_block_start', 'content_block_delta', 'content_block_stop'],
] as const;

/** The same of deltas. `ignored`: chat completions have no place for citations. */
const DELTAS = {
  translated: ['text_delta', 'input_json_delta', 'thinking_delta', 'signature_delta'],
  ignored: ['citations_delta'],
} as const;

/** The same of blocks that begin. `ignored`: it is of tools of the server, never asked for. */
const BLOCKS = {
  translated: ['text', 'thinking', 'redacted_thinking', 'tool_use'],
  ignored: [
    ...['server_tool_use', 'web_search_tool_result', 'web_fetch_tool_result', 'code_execution_tool_result'],
    ...['bash_code_execution_tool_result', 'text_editor_code_execution_tool_result', 'tool_search_tool_result'],
    'container_upload',
  ],
} as const;

type Begun = RawMessageStreamEvent & { type: 'content_block_start' };
type Known<Kinds extends Record<string, readonly string[]>> = Kinds[keyof Kinds][number];
/** A type that the package adds fails to compile here. */
[] as Exclude<RawMessageStreamEvent['type'], (typeof EVENTS)[number]>[] satisfies never[];
[] as Exclude<RawContentBlockDelta['type'], Known<typeof DELTAS>>[] satisfies never[];
[] as Exclude<Begun['content_block']['type'], Known<typeof BLOCKS>>[] satisfies never[];

const timeless = (events: readonly string[]) => events.map((data) => data.replace(/"created":\d+/, ''));
const streams = Object.values(SCENARIOS).map((message) => scripted(message));

/** Translations of the streams without some of their events, and with all of them. */
function without(isLeft: (event: RawMessageStreamEvent) => boolean): [string[][], string[][]] {
  const having = streams.filter((events) => events.some(isLeft));
  expect(having.length).toBeGreaterThan(0);
  const left = having.map((events) => timeless(translated(events.filter((event) => !isLeft(event)))));
  return [left, having.map((events) => timeless(translated(events)))];
}

describe('every event of the official union', () => {
  test.each(EVENTS)('%s makes a difference', (type) => {
    const [left, all] = without((event) => event.type === type);
    expect(left).not.toEqual(all);
  });

  test.each(DELTAS.translated)('%s makes a difference', (type) => {
    const [left, all] = without((event) => event.type === 'content_block_delta' && event.delta.type === type);
    expect(left).not.toEqual(all);
  });

  test.each([...DELTAS.ignored, 'compaction_delta', 'something_new'])('%s is ignored', (type) => {
    const delta = { type, citation: {}, content: 'x', text: 'x', thinking: 'x' };
    const translator = ANTHROPIC.stream();
    const begun = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
    expect(translator.take('', JSON.stringify(begun))).toEqual([]);
    expect(translator.take('', JSON.stringify({ type: 'content_block_delta', index: 0, delta }))).toEqual([]);
  });

  test.each(BLOCKS.translated)('a block %s is translated', (type) => {
    const block = { type, text: 'x', thinking: 'x', data: 'x', id: 'x', name: 'f', input: {} };
    expect(withBlock(block)).not.toEqual([]);
  });

  test.each([...BLOCKS.ignored, 'mcp_tool_use', 'compaction'])('a block %s is ignored', (type) => {
    const block = { type, id: 'x', name: 'f', input: { a: 1 }, content: [{ type: 'text', text: 'x' }], text: 'x' };
    expect(withBlock(block)).toEqual([]);
  });

  function withBlock(block: object): string[] {
    const delta = { type: 'input_json_delta', partial_json: '{"a":' };
    return translated([
      { type: 'content_block_start', index: 0, content_block: block },
      ...('name' in block ? [{ type: 'content_block_delta', index: 0, delta }] : []),
      { type: 'content_block_stop', index: 0 },
    ]);
  }
});
