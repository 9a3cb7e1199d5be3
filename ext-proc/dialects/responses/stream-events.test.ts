import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { describe, expect, test } from 'vitest';
import { RESPONSES } from './responses.ts';
import { FAILED, SCENARIOS } from './scenarios.fixture.ts';
import { scripted, translated } from './scripted-stream.fixture.ts';

/**
 * Every event of the official types. `repeats`: other events say the same. `ignored`: it is about
 * tools and media that are never asked for.
 */
const EVENTS = {
  begins: ['response.created', 'response.in_progress', 'response.queued'],
  translated: [
    ...['response.output_item.added', 'response.output_item.done', 'response.output_text.delta'],
    ...['response.refusal.delta', 'response.function_call_arguments.delta', 'response.custom_tool_call_input.delta'],
    ...['response.reasoning_summary_text.delta', 'response.reasoning_text.delta'],
    ...['response.completed', 'response.incomplete', 'response.failed', 'error'],
  ],
  repeats: [
    ...['response.content_part.added', 'response.content_part.done', 'response.output_text.done'],
    ...['response.refusal.done', 'response.function_call_arguments.done', 'response.custom_tool_call_input.done'],
    ...['response.reasoning_summary_part.added', 'response.reasoning_summary_part.done'],
    ...['response.reasoning_summary_text.done', 'response.reasoning_text.done'],
  ],
  ignored: [
    ...['response.output_text.annotation.added', 'response.audio.delta', 'response.audio.done'],
    ...['response.audio.transcript.delta', 'response.audio.transcript.done'],
    ...['response.code_interpreter_call_code.delta', 'response.code_interpreter_call_code.done'],
    ...['response.code_interpreter_call.completed', 'response.code_interpreter_call.in_progress'],
    ...['response.code_interpreter_call.interpreting', 'response.file_search_call.completed'],
    ...['response.file_search_call.in_progress', 'response.file_search_call.searching'],
    ...['response.web_search_call.completed', 'response.web_search_call.in_progress'],
    ...['response.web_search_call.searching', 'response.image_generation_call.completed'],
    ...['response.image_generation_call.generating', 'response.image_generation_call.in_progress'],
    ...['response.image_generation_call.partial_image', 'response.mcp_call_arguments.delta'],
    ...['response.mcp_call_arguments.done', 'response.mcp_call.completed', 'response.mcp_call.failed'],
    ...['response.mcp_call.in_progress', 'response.mcp_list_tools.completed', 'response.mcp_list_tools.failed'],
    ...['response.mcp_list_tools.in_progress', 'response.compaction.compacting'],
    ...['response.shell_call_command.added', 'response.shell_call_command.delta'],
    ...['response.shell_call_command.done', 'response.shell_call_output_content.delta'],
    'response.shell_call_output_content.done',
  ],
} as const;

/** A type that the package adds fails to compile here. */
type Known = (typeof EVENTS)[keyof typeof EVENTS][number];
[] as Exclude<ResponseStreamEvent['type'], Known>[] satisfies never[];

/** Members of any event, so that one that is looked into has something to give. */
const FULL = {
  ...{ output_index: 0, content_index: 0, summary_index: 0, item_id: 'msg_1', delta: 'x', text: 'x', code: 'x' },
  ...{ arguments: 'x', input: 'x', refusal: 'x', name: 'f', part: { type: 'output_text', text: 'x' } },
  item: { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}' },
  response: { id: 'resp_1', status: 'completed', output: [] },
};

describe('every event of the official union', () => {
  test.each([...EVENTS.begins, ...EVENTS.repeats, ...EVENTS.ignored])('%s is ignored', (type) => {
    const event = JSON.stringify({ ...FULL, type });
    expect(RESPONSES.stream().take(type, event)).toEqual([]);
    expect(RESPONSES.stream().take('', event)).toEqual([]);
  });

  const streams = [...Object.values(SCENARIOS), FAILED].map((response) => scripted(response));
  const inStreams = new Map(streams.flat().map((event) => [event.type, event]));

  test.each(EVENTS.translated.filter((type) => type !== 'error'))('%s makes a difference', (type) => {
    const withType = streams.filter((events) => events.some((event) => event.type === type));
    const without = withType.map((events) => events.filter((event) => event.type !== type));
    expect(without.map((events) => translated(events))).not.toEqual(withType.map((events) => translated(events)));
  });

  test('in a scripted stream is known', () => {
    for (const type of inStreams.keys()) expect(Object.values(EVENTS).flat()).toContain(type);
    const unscripted = [...EVENTS.translated, ...EVENTS.repeats].filter((type) => !inStreams.has(type));
    expect(unscripted).toEqual(['error']);
  });
});
