import fc from 'fast-check';
import type {
  EasyInputMessage,
  ResponseCreateParams,
  ResponseInputContent,
  ResponseInputItem,
  Tool,
} from 'openai/resources/responses/responses';

/** Conversations of Responses by the official types, as clients that store nothing send them. */

const name = fc.constantFrom('get_weather', 'search', 'f-1');
const words = fc.oneof(fc.lorem({ maxCount: 5 }), fc.string({ minLength: 1 }));

const part: fc.Arbitrary<ResponseInputContent> = fc.oneof(
  fc.record({ type: fc.constant('input_text'), text: words }),
  fc.record({
    ...{ type: fc.constant('input_image'), image_url: fc.constant('data:image/png;base64,iVBORw0KGgo=') },
    detail: fc.constantFrom('low', 'high', 'auto'),
  }),
  fc.record({
    ...{ type: fc.constant('input_file'), filename: fc.constant('paper.pdf') },
    file_data: fc.constant('data:application/pdf;base64,JVBERi0='),
  }),
);

const heard: fc.Arbitrary<EasyInputMessage> = fc.record(
  {
    type: fc.constant('message'),
    role: fc.constantFrom('user', 'developer', 'system'),
    content: fc.oneof(words, fc.array(part, { minLength: 1, maxLength: 3 })),
  },
  { requiredKeys: ['role', 'content'] },
);

const reasoning = fc
  .record({ id: fc.uuid(), encrypted_content: fc.base64String({ minLength: 4 }) })
  .map(
    (known): ResponseInputItem => ({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'So.' }], ...known }),
  );
const spoken = fc.record({ id: fc.uuid(), text: words }).map(
  ({ id, text }): ResponseInputItem => ({
    ...{ id: `msg_${id}`, type: 'message', role: 'assistant', status: 'completed' },
    content: [{ type: 'output_text', text, annotations: [] }],
  }),
);
const call = fc
  .record({ call_id: fc.uuid(), name, text: words, isCustom: fc.boolean() })
  .map(({ call_id, name, text, isCustom }): ResponseInputItem[] =>
    isCustom
      ? [
          { type: 'custom_tool_call', call_id, name, input: text },
          { type: 'custom_tool_call_output', call_id, output: text },
        ]
      : [
          { type: 'function_call', call_id, name, arguments: JSON.stringify({ text }) },
          { type: 'function_call_output', call_id, output: text },
        ],
  );
const thought = <Item>(item: fc.Arbitrary<Item>) => fc.tuple(fc.option(reasoning, { nil: undefined }), item);

/** What an assistant said, thought and called, then what the tools gave. */
const turn = fc
  .record({ text: fc.option(thought(spoken)), calls: fc.array(thought(call), { maxLength: 3 }) })
  .map(({ text, calls }): ResponseInputItem[] => {
    const said = [text, ...calls.map(([before, [made]]) => [before, made] as const)].flatMap((one) => one ?? []);
    const outputs = calls.flatMap(([, [, output]]) => output ?? []);
    return [...said, ...outputs].filter((item) => item !== undefined);
  });

const input = fc
  .array(fc.tuple(heard, turn), { minLength: 1, maxLength: 4 })
  .map((turns) => turns.flatMap(([message, items]) => [message, ...items]));

const tool: fc.Arbitrary<Tool> = fc.oneof(
  fc.record({
    ...{ type: fc.constant('function'), name, strict: fc.boolean(), description: words },
    parameters: fc.constant({ type: 'object', properties: { city: { type: 'string' } } }),
  }),
  fc.record({
    ...{ type: fc.constant('custom'), name, description: words },
    format: fc.constantFrom(
      { type: 'text' as const },
      { type: 'grammar' as const, syntax: 'lark' as const, definition: 'start: "a"' },
    ),
  }),
);

export const arbitraryRequest: fc.Arbitrary<ResponseCreateParams> = fc.record(
  {
    ...{ model: fc.constant('public'), input: fc.oneof(words, input), instructions: words },
    ...{ store: fc.boolean(), stream: fc.boolean(), parallel_tool_calls: fc.boolean() },
    tools: fc.array(tool, { minLength: 1, maxLength: 3 }),
    tool_choice: fc.oneof(
      fc.constantFrom('none', 'auto', 'required'),
      fc.record({ type: fc.constantFrom('function', 'custom'), name }),
      name.map((name) => ({
        ...{ type: 'allowed_tools' as const, mode: 'auto' as const },
        tools: [{ type: 'function', name }],
      })),
    ),
    text: fc.record(
      {
        verbosity: fc.constantFrom('low', 'high'),
        format: fc.oneof(
          fc.record({ type: fc.constantFrom('text', 'json_object') }),
          fc.record({
            ...{ type: fc.constant('json_schema'), name, strict: fc.boolean() },
            schema: fc.constant({ type: 'object' }),
          }),
        ),
      },
      { requiredKeys: [] },
    ),
    reasoning: fc.record({ effort: fc.constantFrom('low', 'high'), summary: fc.constant('auto') }),
    include: fc.constant(['reasoning.encrypted_content']),
    ...{ temperature: fc.constantFrom(0, 1.5), top_p: fc.constant(0.5), max_output_tokens: fc.integer({ min: 16 }) },
    ...{ metadata: fc.constant({ a: 'b' }), user: words, prompt_cache_key: words, safety_identifier: words },
    ...{ truncation: fc.constantFrom('auto', 'disabled'), previous_response_id: fc.constant(null) },
    prompt_cache_retention: fc.constant('24h'),
  },
  { requiredKeys: ['model', 'input'] },
);
