import type {
  Response,
  ResponseFunctionToolCall,
  ResponseOutputItem,
  ResponseOutputMessage,
  ResponseReasoningItem,
} from 'openai/resources/responses/responses';

/** Responses in the shapes that OpenAI documents, whole. `scripted` makes the streams of them. */

export function responseWith(output: readonly ResponseOutputItem[], more: Partial<Response> = {}): Response {
  return {
    ...{ id: 'resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b', object: 'response', created_at: 1741476542 },
    ...{ status: 'completed', error: null, incomplete_details: null, instructions: null, metadata: {} },
    ...{ model: 'gpt-6-luna-2026-09-17', output: [...output], output_text: '', parallel_tool_calls: true },
    ...{ temperature: null, tool_choice: 'auto', tools: [], top_p: null, service_tier: 'default' },
    access_programs: null,
    usage: {
      ...{ input_tokens: 328, input_tokens_details: { cached_tokens: 128, cache_write_tokens: 64 } },
      ...{ output_tokens: 52, output_tokens_details: { reasoning_tokens: 32 }, total_tokens: 380 },
    },
    ...more,
  };
}

let made = 0;
const idOf = (prefix: string) => `${prefix}_${String(++made).padStart(48, '0')}`;

export function message(
  content: ResponseOutputMessage['content'] | string,
  phase?: 'commentary' | 'final_answer',
): ResponseOutputMessage {
  const parts = typeof content === 'string' ? [outputText(content)] : content;
  return {
    ...{ id: idOf('msg'), type: 'message', role: 'assistant', status: 'completed', content: parts },
    ...(phase === undefined ? {} : { phase }),
  };
}

export function outputText(text: string): ResponseOutputMessage['content'][number] {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

export function reasoning(summary: readonly string[], encrypted?: string): ResponseReasoningItem {
  return {
    id: idOf('rs'),
    type: 'reasoning',
    summary: summary.map((text) => ({ type: 'summary_text', text })),
    ...(encrypted === undefined ? {} : { encrypted_content: encrypted }),
  };
}

export function functionCall(callId: string, name: string, args: string): ResponseFunctionToolCall {
  return { id: idOf('fc'), type: 'function_call', status: 'completed', call_id: callId, name, arguments: args };
}

export function customCall(callId: string, name: string, input: string): ResponseOutputItem {
  const item: ResponseOutputItem = { id: idOf('ctc'), type: 'custom_tool_call', call_id: callId, name, input };
  // OpenAI sends it, and the AI SDK demands it; the official type lacks it.
  return Object.assign(item, { status: 'completed' });
}

export const TEXT = responseWith([message('In a peaceful grove beneath a silver moon, a "unicorn"\nnamed Lumina 🦄.')]);

export const PARALLEL_CALLS = responseWith([
  reasoning(['**Weather**\n\nBoth cities.', '**Tools**\n\nOne call for each.'], 'gAAAAAB-first'),
  functionCall('call_paris', 'get_weather', '{"location":"Paris, France"}'),
  functionCall('call_bogota', 'get_weather', '{"location":"Bogotá, Colombia"}'),
]);

export const CALL_AFTER_TEXT = responseWith([
  reasoning([], 'gAAAAAB-one'),
  message('I look it up.', 'commentary'),
  reasoning(['Which tool?'], 'gAAAAAB-two'),
  functionCall('call_1', 'search', '{}'),
  reasoning([], 'gAAAAAB-three'),
  customCall('call_2', 'shell', 'ls -l "a b"'),
]);

export const REFUSAL = responseWith([message([{ type: 'refusal', refusal: "I'm sorry, I cannot assist with that." }])]);

export const TWO_MESSAGES = responseWith([message('First.', 'commentary'), message('Second.', 'final_answer')]);

export const REMARK_BEFORE_JSON = responseWith(
  [message('Preparing.', 'commentary'), message('{"a":1}', 'final_answer')],
  { text: { format: { type: 'json_schema', name: 'a', schema: { type: 'object' } } } },
);

const cutBy = (reason: 'max_output_tokens' | 'content_filter') =>
  ({ status: 'incomplete', incomplete_details: { reason } }) as const;

export const ONLY_REMARK = responseWith([message('Preparing.', 'commentary')], {
  ...cutBy('max_output_tokens'),
  text: { format: { type: 'json_object' } },
});

export const TWO_PARTS = responseWith([message([outputText('{"a":'), outputText('1}')])]);

export const OPEN_REASONING = responseWith([
  {
    ...reasoning([]),
    content: [
      { type: 'reasoning_text', text: 'The user says hello.' },
      { type: 'reasoning_text', text: 'I answer.' },
    ],
  },
  message('Hello.'),
]);

export const CUT_BY_LIMIT = responseWith([message('In a peaceful')], cutBy('max_output_tokens'));

export const ONLY_REASONING = responseWith([reasoning(['Long thoughts.'], 'gAAAAAB-only')], cutBy('max_output_tokens'));

export const FILTERED = responseWith([message('In a')], cutBy('content_filter'));

export const EMPTY = responseWith([]);

const LIKELY = {
  ...{ token: 'Hi', logprob: -0.25, bytes: [72, 105] },
  top_logprobs: [{ token: 'Yo', logprob: -2.5, bytes: [89, 111] }],
};

export const WITH_LOGPROBS = responseWith([
  message([{ type: 'output_text', text: 'Hi', annotations: [], logprobs: [LIKELY] }]),
]);

export const FAILED = responseWith([], {
  status: 'failed',
  error: { code: 'rate_limit_exceeded', message: 'Rate limit reached for gpt-6-luna in organization org-abcdef.' },
});

/** Everything that succeeds, by name. */
export const SCENARIOS = {
  ...{ TEXT, PARALLEL_CALLS, CALL_AFTER_TEXT, REFUSAL, TWO_MESSAGES, REMARK_BEFORE_JSON, ONLY_REMARK, TWO_PARTS },
  ...{ OPEN_REASONING, CUT_BY_LIMIT, ONLY_REASONING, FILTERED, EMPTY, WITH_LOGPROBS },
} as const;
