import type {
  ContentBlockParam,
  MessageCreateParams,
  MessageParam,
  TextBlockParam,
  Tool,
  ToolChoice,
} from '@anthropic-ai/sdk/resources/messages/messages';
import fc from 'fast-check';

/** Conversations of Messages by the official types, as clients send them. */

const words = fc.lorem({ maxCount: 5 });
const name = fc.constantFrom('get_weather', 'search', 'f-1');
const cached = {
  cache_control: fc.constantFrom({ type: 'ephemeral' as const }, { type: 'ephemeral', ttl: '5m' } as const),
};

const text: fc.Arbitrary<TextBlockParam> = fc.record(
  { type: fc.constant('text'), text: words, ...cached },
  { requiredKeys: ['type', 'text'] },
);
const image: fc.Arbitrary<ContentBlockParam> = fc.record(
  {
    type: fc.constant('image'),
    source: fc.constant({ type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } as const),
    ...cached,
  },
  { requiredKeys: ['type', 'source'] },
);
const file: fc.Arbitrary<ContentBlockParam> = fc.record({
  type: fc.constant('document'),
  source: fc.constant({ type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } as const),
  title: words,
});

const thinking: fc.Arbitrary<ContentBlockParam> = fc.oneof(
  fc.record({ type: fc.constant('thinking'), thinking: words, signature: fc.base64String({ minLength: 4 }) }),
  fc.record({ type: fc.constant('redacted_thinking'), data: fc.base64String({ minLength: 4 }) }),
);
const thought = (block: fc.Arbitrary<ContentBlockParam>) => fc.tuple(fc.option(thinking, { nil: undefined }), block);

const call = fc.record({ id: fc.uuid(), name, city: words, isCached: fc.boolean() }).map(
  ({ id, name, city, isCached }): ContentBlockParam => ({
    ...{ type: 'tool_use', id, name, input: { city, days: 3 } },
    ...(isCached ? { cache_control: { type: 'ephemeral' } } : {}),
  }),
);
const result = fc.oneof(words, fc.array(fc.oneof(text, image), { minLength: 1, maxLength: 2 }));

const said = fc.oneof(words, fc.array(fc.oneof(text, image, file), { minLength: 1, maxLength: 3 }));

/** What the assistant thinks, says and calls, then what the tools gave and the user says. */
const turn = fc
  .record({
    ...{ spoken: thought(text), calls: fc.array(fc.tuple(thought(call), result), { maxLength: 3 }) },
    next: fc.array(fc.oneof(text, image), { minLength: 1, maxLength: 2 }),
  })
  .map(({ spoken, calls, next }): MessageParam[] => {
    const blocks = [spoken, ...calls.map(([made]) => made)].flat().filter((block) => block !== undefined);
    const results = calls.map(([[, made], content]): ContentBlockParam => {
      const id = made.type === 'tool_use' ? made.id : '';
      return { type: 'tool_result', tool_use_id: id, content: content as string };
    });
    return [
      { role: 'assistant', content: blocks },
      { role: 'user', content: [...results, ...next] },
    ];
  });

const messages = fc
  .tuple(said, fc.array(turn, { maxLength: 3 }))
  .map(([first, turns]): MessageParam[] => [{ role: 'user', content: first as string }, ...turns.flat()]);

const tool: fc.Arbitrary<Tool> = fc.record(
  {
    ...{ name, description: words, strict: fc.constant(true), ...cached },
    input_schema: fc.constant({ type: 'object' as const, properties: { city: { type: 'string' } } }),
  },
  { requiredKeys: ['name', 'input_schema'] },
);

const choice: fc.Arbitrary<ToolChoice> = fc.oneof(
  fc.record({ type: fc.constantFrom('auto', 'any'), disable_parallel_tool_use: fc.constant(true) }),
  fc.record({ type: fc.constant('none') }),
  fc.record({ type: fc.constant('tool'), name }),
);

export const arbitraryRequest: fc.Arbitrary<MessageCreateParams> = fc.record(
  {
    ...{ model: fc.constant('public'), messages, max_tokens: fc.integer({ min: 1, max: 9_000 }), stream: fc.boolean() },
    system: fc.oneof(words, fc.array(text, { minLength: 1, maxLength: 3 })),
    ...{ tools: fc.array(tool, { minLength: 1, maxLength: 3 }), tool_choice: choice },
    ...{ stop_sequences: fc.array(words, { minLength: 1, maxLength: 4 }), temperature: fc.constantFrom(0, 1) },
    ...{ top_p: fc.constant(0.5), top_k: fc.nat(), metadata: words.map((user_id) => ({ user_id })) },
    thinking: fc.oneof(
      fc.constant({ type: 'disabled' } as const),
      fc.record({ type: fc.constant('adaptive'), display: fc.constantFrom('summarized', 'omitted') }),
      fc.record({ type: fc.constant('enabled'), budget_tokens: fc.integer({ min: 1024, max: 60_000 }) }),
    ),
    output_config: fc.record({ effort: fc.constantFrom('low', 'medium', 'high', 'xhigh', 'max') }),
    ...{ service_tier: fc.constantFrom('auto', 'standard_only'), inference_geo: fc.constant(null) },
  },
  { requiredKeys: ['model', 'messages', 'max_tokens'] },
) as fc.Arbitrary<MessageCreateParams>;
