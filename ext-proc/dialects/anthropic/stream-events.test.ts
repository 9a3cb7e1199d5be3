import type { RawContentBlockDelta, RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages/messages';
import { describe, expect, test } from 'vitest';
import { ANTHROPIC } from './anthropic.ts';
import { SCENARIOS } from './scenarios.fixture.ts';
import { scripted, translated } from './scripted-stream.fixture.ts';

/** Every event of the official types. One that the package adds fails to compile here. */
const EVENTS = {
  message_start: 'translated',
  message_delta: 'translated',
  message_stop: 'translated',
  content_block_start: 'translated',
  content_block_delta: 'translated',
  content_block_stop: 'translated',
} as const satisfies Record<RawMessageStreamEvent['type'], 'translated'>;

/** The same of deltas. `ignored`: chat completions have no place for citations. */
const DELTAS = {
  text_delta: 'translated',
  input_json_delta: 'translated',
  thinking_delta: 'translated',
  signature_delta: 'translated',
  citations_delta: 'ignored',
} as const satisfies Record<RawContentBlockDelta['type'], 'translated' | 'ignored'>;

/** The same of blocks that begin. `ignored`: it is of tools of the server, never asked for. */
const BLOCKS = {
  text: 'translated',
  thinking: 'translated',
  redacted_thinking: 'translated',
  tool_use: 'translated',
  server_tool_use: 'ignored',
  web_search_tool_result: 'ignored',
  web_fetch_tool_result: 'ignored',
  code_execution_tool_result: 'ignored',
  bash_code_execution_tool_result: 'ignored',
  text_editor_code_execution_tool_result: 'ignored',
  tool_search_tool_result: 'ignored',
  container_upload: 'ignored',
} as const satisfies Record<
  (RawMessageStreamEvent & { type: 'content_block_start' })['content_block']['type'],
  'translated' | 'ignored'
>;

const names = (kinds: Readonly<Record<string, string>>, kind: string) =>
  Object.keys(kinds).filter((name) => kinds[name] === kind);

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
  test.each(names(EVENTS, 'translated'))('%s is missed', (type) => {
    const [left, all] = without((event) => event.type === type);
    expect(left).not.toEqual(all);
  });

  test.each(names(DELTAS, 'translated'))('%s is missed', (type) => {
    const [left, all] = without((event) => event.type === 'content_block_delta' && event.delta.type === type);
    expect(left).not.toEqual(all);
  });

  test.each([...names(DELTAS, 'ignored'), 'compaction_delta', 'something_new'])('%s says nothing', (type) => {
    const delta = { type, citation: {}, content: 'x', text: 'x', thinking: 'x' };
    const translator = ANTHROPIC.stream();
    const begun = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
    expect(translator.take('', JSON.stringify(begun))).toEqual([]);
    expect(translator.take('', JSON.stringify({ type: 'content_block_delta', index: 0, delta }))).toEqual([]);
  });

  test.each(['text', 'thinking', 'redacted_thinking', 'tool_use'])('a block %s is told', (type) => {
    const block = { type, text: 'x', thinking: 'x', data: 'x', id: 'x', name: 'f', input: {} };
    expect(BLOCKS).toHaveProperty(type, 'translated');
    expect(withBlock(block)).not.toEqual([]);
  });

  test.each([...names(BLOCKS, 'ignored'), 'mcp_tool_use', 'compaction'])('a block %s says nothing', (type) => {
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
