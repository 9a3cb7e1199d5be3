import type { ContentBlock, Message } from '@anthropic-ai/sdk/resources/messages/messages';
import fc from 'fast-check';
import { messageWith, redacted, text, thinking, toolUse } from './scenarios.fixture.ts';

const words = fc.oneof(
  fc.lorem({ maxCount: 8 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
  fc.string({ unit: fc.constantFrom('"', '\\', '\n', '🦄', '\u2028', 'a', ' ', '}'), minLength: 1, maxLength: 12 }),
);

const signature = fc.base64String({ minLength: 4 });

const block: fc.Arbitrary<ContentBlock> = fc.oneof(
  { weight: 2, arbitrary: words.map(text) },
  { weight: 2, arbitrary: fc.tuple(fc.oneof(words, fc.constant('')), signature).map((made) => thinking(...made)) },
  fc.base64String({ minLength: 4 }).map(redacted),
  {
    weight: 2,
    arbitrary: fc
      .record({
        ...{ id: fc.uuid(), name: fc.constantFrom('f', 'get_weather') },
        // Values as they are read: `fc.jsonValue()` has -0, which JSON is not written with.
        input: fc.dictionary(
          words,
          fc.json().map((text): unknown => JSON.parse(text)),
          { maxKeys: 3, noNullPrototype: true },
        ),
      })
      .map(({ id, name, input }) => toolUse(`toolu_${id}`, name, input)),
  },
);

const count = fc.nat({ max: 100_000 });
const usage = fc
  .record({ input: count, read: fc.option(count), short: count, long: count, output: count, thought: count })
  .map(({ input, read, short, long, output, thought }): Message['usage'] => ({
    ...{ input_tokens: input, cache_read_input_tokens: read, cache_creation_input_tokens: short + long },
    cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
    ...{ output_tokens: output, output_tokens_details: { thinking_tokens: thought } },
    ...{ server_tool_use: null, service_tier: 'priority', inference_geo: null, speed: null },
  }));

export const arbitraryMessage: fc.Arbitrary<Message> = fc
  .record({
    content: fc.array(block, { maxLength: 6 }),
    reason: fc.constantFrom('end_turn' as const, 'tool_use' as const, 'max_tokens' as const, 'refusal' as const),
    usage,
  })
  .map(({ content, reason, usage }) => messageWith(content, reason, { usage }));
