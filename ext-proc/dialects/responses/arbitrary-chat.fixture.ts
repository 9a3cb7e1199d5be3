import fc from 'fast-check';
import type * as official from 'openai/resources/chat/completions';

/** Bodies of chat completions by the official types, as they come to a dialect: without nulls. */

const name = fc.constantFrom('get_weather', 'search', 'f-1');
const words = fc.oneof(fc.lorem({ maxCount: 5 }), fc.string(), fc.constant(''));
const schema = fc.constantFrom<Record<string, unknown>>(
  {},
  { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
);

const textPart: fc.Arbitrary<official.ChatCompletionContentPartText> = fc.record(
  {
    type: fc.constant('text'),
    text: words,
    prompt_cache_breakpoint: fc.constant({ mode: 'explicit' }),
    cache_control: fc.constant({ type: 'ephemeral' }),
  },
  { requiredKeys: ['type', 'text'] },
);
const url = fc.constant('data:image/png;base64,iVBORw0KGgo=');
const image = fc.record({ url, detail: fc.constantFrom('low', 'high', 'auto') }, { requiredKeys: ['url'] });
const file = fc.record(
  { file_data: fc.constant('data:application/pdf;base64,JVBERi0='), filename: fc.constant('paper.pdf') },
  { requiredKeys: ['file_data'] },
);
const part: fc.Arbitrary<official.ChatCompletionContentPart> = fc.oneof(
  textPart,
  fc.record({ type: fc.constant('image_url'), image_url: image }),
  fc.record({ type: fc.constant('file'), file }),
);

const toolCall = fc
  .record({
    ...{ name, input: words, isCustom: fc.boolean() },
    id: fc.oneof(fc.uuid(), fc.string({ minLength: 60, maxLength: 90 })),
  })
  .map(
    ({ id, name, input, isCustom }): official.ChatCompletionMessageToolCall =>
      isCustom
        ? { id, type: 'custom', custom: { name, input } }
        : { id, type: 'function', function: { name, arguments: input } },
  );

/** Entries as the translation makes them, and as others do. */
const details = fc.array(
  fc.oneof(
    fc.record(
      {
        type: fc.constantFrom('reasoning.encrypted', 'reasoning.text', 'reasoning.summary'),
        format: fc.constantFrom('openai-responses-v1', 'anthropic-claude-v1'),
        ...{ id: fc.constant('rs_1'), data: fc.constant('gAAAAAB'), text: fc.constant('Thinking.') },
        ...{ index: fc.integer({ min: -1, max: 6 }), summary: fc.array(words, { maxLength: 2 }) },
      },
      { requiredKeys: ['type', 'format'] },
    ),
    fc.jsonValue(),
  ),
  { maxLength: 3 },
);

const assistant: fc.Arbitrary<official.ChatCompletionAssistantMessageParam> = fc.record(
  {
    role: fc.constant('assistant'),
    content: fc.oneof(words, fc.array(textPart, { minLength: 1, maxLength: 2 })),
    refusal: words,
    tool_calls: fc.array(toolCall, { minLength: 1, maxLength: 3 }),
    function_call: fc.record({ name, arguments: words }),
    reasoning_details: fc.oneof(details, fc.jsonValue()),
    phase: fc.constantFrom('commentary', 'final_answer', 'x'),
  },
  { requiredKeys: ['role'] },
);

const message: fc.Arbitrary<official.ChatCompletionMessageParam> = fc.oneof(
  fc.record({ role: fc.constant('system'), content: fc.oneof(words, fc.array(textPart)) }),
  fc.record({ role: fc.constant('developer'), content: words }),
  fc.record(
    { role: fc.constant('user'), name, content: fc.oneof(words, fc.array(part, { maxLength: 3 })) },
    { requiredKeys: ['role', 'content'] },
  ),
  assistant,
  fc.record({ role: fc.constant('function'), name, content: words }),
);

const conversation = fc
  .array(message, { minLength: 1, maxLength: 5 })
  .map((messages) => messages.flatMap((message) => [message, ...results(message)]));

function results(message: official.ChatCompletionMessageParam): official.ChatCompletionMessageParam[] {
  if (message.role !== 'assistant') return [];
  return (message.tool_calls ?? []).map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'done' }));
}

const functionTool: fc.Arbitrary<official.ChatCompletionTool> = fc.record({
  type: fc.constant('function'),
  function: fc.record(
    { name, description: words, parameters: schema, strict: fc.boolean() },
    { requiredKeys: ['name'] },
  ),
});
const customTool: fc.Arbitrary<official.ChatCompletionTool> = fc.record({
  type: fc.constant('custom'),
  custom: fc.record(
    {
      ...{ name, description: words },
      format: fc.constantFrom(
        { type: 'text' as const },
        { type: 'grammar' as const, grammar: { syntax: 'lark' as const, definition: 'start: "a"' } },
      ),
    },
    { requiredKeys: ['name'] },
  ),
});

const toolChoice: fc.Arbitrary<official.ChatCompletionToolChoiceOption> = fc.oneof(
  fc.constantFrom('none' as const, 'auto' as const, 'required' as const),
  fc.record({ type: fc.constant('function'), function: fc.record({ name }) }),
  fc.record({ type: fc.constant('custom'), custom: fc.record({ name }) }),
  name.map((name) => ({
    type: 'allowed_tools' as const,
    allowed_tools: { mode: 'auto' as const, tools: [{ type: 'function', function: { name } }] },
  })),
);

const jsonSchema = fc.record({ name, schema, strict: fc.boolean(), description: words }, { requiredKeys: ['name'] });

export const arbitraryChat: fc.Arbitrary<official.ChatCompletionCreateParams> = fc.record(
  {
    model: fc.constant('public'),
    messages: conversation,
    tools: fc.array(fc.oneof(functionTool, customTool), { maxLength: 3 }),
    tool_choice: toolChoice,
    parallel_tool_calls: fc.boolean(),
    response_format: fc.oneof(
      fc.record({ type: fc.constant('text') }),
      fc.record({ type: fc.constant('json_object') }),
      fc.record({ type: fc.constant('json_schema'), json_schema: jsonSchema }),
    ),
    verbosity: fc.constantFrom('low', 'high'),
    reasoning_effort: fc.constantFrom('none', 'minimal', 'high', 'xhigh'),
    ...{ temperature: fc.constantFrom(0, 1.5), top_p: fc.constant(0.5) },
    ...{ logprobs: fc.boolean(), top_logprobs: fc.constant(5), logit_bias: fc.constant({ 50256: -100 }) },
    ...{ stop: fc.constant(['END']), seed: fc.constant(7), n: fc.constant(1) },
    ...{ presence_penalty: fc.constant(1), frequency_penalty: fc.constant(1) },
    prediction: fc.record({ type: fc.constant('content'), content: words }),
    ...{ metadata: fc.constant({ a: 'b' }), store: fc.boolean(), modalities: fc.constant(['text']) },
    stream: fc.constant(true),
    stream_options: fc.record({ include_usage: fc.boolean(), include_obfuscation: fc.boolean() }),
    prompt_cache_retention: fc.constant('24h'),
    prompt_cache_options: fc.constant({ mode: 'explicit' }),
  },
  { requiredKeys: ['model', 'messages'] },
);
