import type {
  ContentBlock,
  Message,
  StopReason,
  TextBlock,
  ThinkingBlock,
  ToolUseBlock,
} from '@anthropic-ai/sdk/resources/messages/messages';

/** Messages in the shapes that Anthropic documents, whole. `scripted` makes the streams of them. */

const USAGE: Message['usage'] = {
  ...{ input_tokens: 100, cache_read_input_tokens: 2000, cache_creation_input_tokens: 300 },
  cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 100 },
  ...{ output_tokens: 52, output_tokens_details: { thinking_tokens: 32 } },
  ...{ server_tool_use: null, service_tier: 'standard', inference_geo: 'us', speed: null },
};

export function messageWith(
  content: readonly ContentBlock[],
  stopReason: StopReason = 'end_turn',
  more: Partial<Message> = {},
): Message {
  return {
    ...{ id: 'msg_01XFDUDYJgAACzvnptvVoYEL', type: 'message', role: 'assistant', model: 'claude-sonnet-5-5' },
    ...{ content: [...content], container: null, diagnostics: null, usage: USAGE },
    ...{ stop_reason: stopReason, stop_sequence: null, stop_details: null },
    ...more,
  };
}

export function text(words: string): TextBlock {
  return { type: 'text', text: words, citations: null };
}

export function thinking(words: string, signature = 'EqQBCgIYAhIM1gbcDa9GJwZA2b3h'): ThinkingBlock {
  return { type: 'thinking', thinking: words, signature };
}

export function redacted(data: string): ContentBlock {
  return { type: 'redacted_thinking', data };
}

export function toolUse(id: string, name: string, input: unknown): ToolUseBlock {
  return { type: 'tool_use', id, name, input, caller: { type: 'direct' } };
}

export const TEXT = messageWith([text('In a peaceful grove beneath a silver moon, a "unicorn"\nnamed Lumina 🦄.')]);

export const PARALLEL_CALLS = messageWith(
  [
    thinking('Both cities.\n\nOne call for each.'),
    text('I look it up.'),
    toolUse('toolu_01paris', 'get_weather', { location: 'Paris, France' }),
    toolUse('toolu_02bogota', 'get_weather', { location: 'Bogotá, Colombia', unit: 'celsius' }),
  ],
  'tool_use',
);

export const CALL_WITHOUT_INPUT = messageWith([toolUse('toolu_01', 'now', {})], 'tool_use');

export const INTERLEAVED = messageWith(
  [
    thinking('First thoughts.', 'sig-one'),
    redacted('EmwKAhgBEgy3va3pzix'),
    text('I look it up.'),
    thinking('Which tool?', 'sig-two'),
    toolUse('toolu_01', 'search', { query: 'a "b"', limit: 3 }),
  ],
  'tool_use',
);

export const OMITTED_THINKING = messageWith([thinking('', 'sig-only'), text('Hello.')]);

export const CITED = messageWith([
  text('According to the paper, '),
  {
    ...text('grass is green'),
    citations: [
      {
        ...{ type: 'char_location', cited_text: 'Grass is green.', document_index: 0, document_title: 'Grass' },
        ...{ start_char_index: 0, end_char_index: 15, file_id: null },
      },
    ],
  },
  text('.'),
]);

export const TWO_TEXTS = messageWith([text('First.'), thinking('Hm.', 'sig'), text('Second.')]);

export const WITH_SERVER_TOOL = messageWith([
  text('I search.'),
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' }, caller: { type: 'direct' } },
  text('Found.'),
]);

export const CUT_BY_LIMIT = messageWith([text('In a peaceful')], 'max_tokens');

export const CUT_THINKING = messageWith([{ ...thinking('Long thoughts'), signature: '' }], 'max_tokens');

export const REFUSED = messageWith([text('In a')], 'refusal', {
  stop_details: { type: 'refusal', category: 'cyber', explanation: 'This could enable cyber harm.' },
});

export const STOPPED = messageWith([text('1, 2, ')], 'stop_sequence', { stop_sequence: '3' });

export const EMPTY = messageWith([]);

/** Everything that succeeds, by name. */
export const SCENARIOS = {
  ...{ TEXT, PARALLEL_CALLS, CALL_WITHOUT_INPUT, INTERLEAVED, OMITTED_THINKING, CITED, TWO_TEXTS, WITH_SERVER_TOOL },
  ...{ CUT_BY_LIMIT, CUT_THINKING, REFUSED, STOPPED, EMPTY },
} as const;
