import fc from 'fast-check';
import type { Response, ResponseOutputItem } from 'openai/resources/responses/responses';
import { customCall, functionCall, message, outputText, reasoning, responseWith } from './scenarios.fixture.ts';

const text = fc.oneof(
  fc.lorem({ maxCount: 8 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
  fc.string({ unit: fc.constantFrom('"', '\\', '\n', '🦄', '\u2028', 'a'), minLength: 1, maxLength: 12 }),
);

const outputMessage = fc.oneof(
  { weight: 3, arbitrary: text.map((words) => message(words)) },
  fc.array(text, { minLength: 1, maxLength: 3 }).map((parts) => message(parts.map(outputText))),
  text.map((refusal) => message([{ type: 'refusal', refusal }])),
);

const call = fc
  .record({ id: fc.uuid(), name: fc.constantFrom('f', 'get_weather'), input: text, isCustom: fc.boolean() })
  .map(({ id, name, input, isCustom }) => (isCustom ? customCall : functionCall)(`call_${id}`, name, input));

const thoughts = fc
  .record({ summary: fc.array(text, { maxLength: 3 }), data: fc.option(fc.base64String({ minLength: 4 })) })
  .map(({ summary, data }) => reasoning(summary, data ?? undefined));

/** Items in the order in which a model makes them: text, then calls, and thoughts before any. */
const output: fc.Arbitrary<ResponseOutputItem[]> = fc
  .tuple(
    fc.array(fc.tuple(fc.array(thoughts, { maxLength: 2 }), outputMessage), { maxLength: 2 }),
    fc.array(fc.tuple(fc.array(thoughts, { maxLength: 1 }), call), { maxLength: 4 }),
  )
  .map((turns) => turns.flat(3));

const count = fc.nat({ max: 100_000 });

export const arbitraryResponse: fc.Arbitrary<Response> = fc
  .record({ output, isCut: fc.boolean(), input: count, cached: count, written: count, words: count, thought: count })
  .map(({ output, isCut, input, cached, written, words, thought }) =>
    responseWith(output, {
      ...(isCut ? { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } } : {}),
      usage: {
        input_tokens: input,
        input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
        output_tokens: words,
        output_tokens_details: { reasoning_tokens: thought },
        total_tokens: input + words,
      },
    }),
  );

/** Cuts of a text at the given places, which are numbers from 0 to 1. */
export function cutAt(places: readonly number[]): (text: string) => string[] {
  return (text) => {
    const ends = [...new Set([...places.map((place) => Math.floor(place * text.length)), text.length])];
    ends.sort((one, other) => one - other);
    return ends.map((end, at) => text.slice(ends[at - 1] ?? 0, end)).filter((piece) => piece !== '');
  };
}

export const arbitraryPlaces = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 });
