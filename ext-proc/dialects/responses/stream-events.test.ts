import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { describe, expect, test } from 'vitest';
import { RESPONSES } from './responses.ts';
import { FAILED, SCENARIOS } from './scenarios.fixture.ts';
import { scripted, translated } from './scripted-stream.fixture.ts';

/**
 * Every event of the official types. `repeats`: other events say the same. `ignored`: it is about
 * tools and media that are never asked for. A type that the package adds fails to compile here.
 */
const EVENTS = {
  'response.created': 'begins',
  'response.in_progress': 'begins',
  'response.queued': 'begins',
  'response.output_item.added': 'translated',
  'response.output_item.done': 'translated',
  'response.output_text.delta': 'translated',
  'response.refusal.delta': 'translated',
  'response.function_call_arguments.delta': 'translated',
  'response.custom_tool_call_input.delta': 'translated',
  'response.reasoning_summary_text.delta': 'translated',
  'response.reasoning_text.delta': 'translated',
  'response.completed': 'translated',
  'response.incomplete': 'translated',
  'response.failed': 'translated',
  error: 'translated',
  'response.content_part.added': 'repeats',
  'response.content_part.done': 'repeats',
  'response.output_text.done': 'repeats',
  'response.refusal.done': 'repeats',
  'response.function_call_arguments.done': 'repeats',
  'response.custom_tool_call_input.done': 'repeats',
  'response.reasoning_summary_part.added': 'repeats',
  'response.reasoning_summary_part.done': 'repeats',
  'response.reasoning_summary_text.done': 'repeats',
  'response.reasoning_text.done': 'repeats',
  'response.output_text.annotation.added': 'ignored',
  'response.audio.delta': 'ignored',
  'response.audio.done': 'ignored',
  'response.audio.transcript.delta': 'ignored',
  'response.audio.transcript.done': 'ignored',
  'response.code_interpreter_call_code.delta': 'ignored',
  'response.code_interpreter_call_code.done': 'ignored',
  'response.code_interpreter_call.completed': 'ignored',
  'response.code_interpreter_call.in_progress': 'ignored',
  'response.code_interpreter_call.interpreting': 'ignored',
  'response.file_search_call.completed': 'ignored',
  'response.file_search_call.in_progress': 'ignored',
  'response.file_search_call.searching': 'ignored',
  'response.web_search_call.completed': 'ignored',
  'response.web_search_call.in_progress': 'ignored',
  'response.web_search_call.searching': 'ignored',
  'response.image_generation_call.completed': 'ignored',
  'response.image_generation_call.generating': 'ignored',
  'response.image_generation_call.in_progress': 'ignored',
  'response.image_generation_call.partial_image': 'ignored',
  'response.mcp_call_arguments.delta': 'ignored',
  'response.mcp_call_arguments.done': 'ignored',
  'response.mcp_call.completed': 'ignored',
  'response.mcp_call.failed': 'ignored',
  'response.mcp_call.in_progress': 'ignored',
  'response.mcp_list_tools.completed': 'ignored',
  'response.mcp_list_tools.failed': 'ignored',
  'response.mcp_list_tools.in_progress': 'ignored',
} as const satisfies Record<ResponseStreamEvent['type'], 'begins' | 'translated' | 'repeats' | 'ignored'>;

/** Events that the package had not at the version that is installed here: 7.57 has them. */
const LATER = [
  ...['response.compaction.compacting', 'response.shell_call_command.added', 'response.shell_call_command.delta'],
  ...['response.shell_call_command.done', 'response.shell_call_output_content.delta'],
  'response.shell_call_output_content.done',
];

const typesOf = (kind: string) =>
  Object.entries(EVENTS)
    .filter(([, known]) => known === kind)
    .map(([type]) => type);

/** Members of any event, so that one that is looked into has something to give. */
const FULL = {
  ...{ output_index: 0, content_index: 0, summary_index: 0, item_id: 'msg_1', delta: 'x', text: 'x', code: 'x' },
  ...{ arguments: 'x', input: 'x', refusal: 'x', name: 'f', part: { type: 'output_text', text: 'x' } },
  item: { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}' },
  response: { id: 'resp_1', status: 'completed', output: [] },
};

describe('every event of the official union', () => {
  test.each([...typesOf('begins'), ...typesOf('repeats'), ...typesOf('ignored'), ...LATER])(
    '%s says nothing',
    (type) => {
      const event = JSON.stringify({ ...FULL, type });
      expect(RESPONSES.stream().take(type, event)).toEqual([]);
      expect(RESPONSES.stream().take('', event)).toEqual([]);
    },
  );

  const streams = [...Object.values(SCENARIOS), FAILED].map((response) => scripted(response));
  const inStreams = new Map(streams.flat().map((event) => [event.type, event]));

  test.each(typesOf('translated').filter((type) => type !== 'error'))('%s is missed', (type) => {
    const withType = streams.filter((events) => events.some((event) => event.type === type));
    const without = withType.map((events) => events.filter((event) => event.type !== type));
    expect(without.map((events) => translated(events))).not.toEqual(withType.map((events) => translated(events)));
  });

  test('that a scripted stream has is known', () => {
    for (const type of inStreams.keys()) expect(EVENTS).toHaveProperty([type]);
    const unscripted = [...typesOf('translated'), ...typesOf('repeats')].filter(
      (type) => !inStreams.has(type as 'error'),
    );
    expect(unscripted).toEqual(['error']);
  });
});
