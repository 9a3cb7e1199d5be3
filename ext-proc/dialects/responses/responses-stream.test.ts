import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '#core/json-object.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { callDeltas, expectCutStreams, expectGatheredByClient, wholeOf } from '../dialect-checks.fixture.ts';
import { arbitraryPlaces, arbitraryResponse, cutAt } from './arbitrary-response.fixture.ts';
import { gather } from './gathered-stream.fixture.ts';
import { RESPONSES } from './responses.ts';
import { PARALLEL_CALLS, SCENARIOS, TEXT, WITH_LOGPROBS } from './scenarios.fixture.ts';
import { scripted, translated } from './scripted-stream.fixture.ts';

/** Response as JSON gives it, in the form in which a stream is gathered. */
const whole = (response: object) => wholeOf(RESPONSES, response);

function withSortedCalls<Read extends { readonly message: JsonObject }>(read: Read): Read {
  const { tool_calls: calls } = read.message;
  if (!Array.isArray(calls)) return read;
  const sorted = calls.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  return { ...read, message: { ...read.message, tool_calls: sorted } };
}

describe('a stream gives the same as the whole response', () => {
  test.each(Object.entries(SCENARIOS))('%s', (_name, response) => {
    const { logprobs: _, ...gathered } = gather(translated(scripted(response)));
    expect(gathered).toEqual(whole(response));
    expect(gather(translated(scripted(response), false))).toMatchObject(gathered);
  });

  test('for any response, however its texts are cut', () => {
    fc.assert(
      fc.property(arbitraryResponse, arbitraryPlaces, (response, places) => {
        const { logprobs: _, ...gathered } = gather(translated(scripted(response, cutAt(places))));
        expect(gathered).toEqual(whole(response));
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  test.each<[string, RegExp]>([
    ['deltas', /delta$/],
    ['deltas and beginnings', /delta$|added$/],
    ['deltas and ends of parts', /delta$|part|text\.done|arguments\.done/],
    ['first events', /created|in_progress/],
    ['events but the end', /^(?!response\.(?:completed|incomplete)$)/],
  ])('even without its %s', (_, left) => {
    fc.assert(
      fc.property(arbitraryResponse, arbitraryPlaces, (response, places) => {
        const events = scripted(response, cutAt(places)).filter(({ type }) => !left.test(type));
        const { logprobs: _, ...gathered } = gather(translated(events));
        // Without their beginnings, parallel calls stand in the order of their ends.
        expect(withSortedCalls(gathered)).toEqual(withSortedCalls(whole(response)));
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  test('and a cut stream gives no end, and nothing that the whole response lacks', () => {
    expectCutStreams(RESPONSES, scripted(PARALLEL_CALLS), PARALLEL_CALLS);
  });
});

const HEAD =
  '{"id":"resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b","object":"chat.completion.chunk","created":1741476542,"model":"gpt-6-luna-2026-09-17",';

describe('chunks', () => {
  test('of a text, byte for byte', () => {
    const events = translated(scripted(TEXT, (text) => [text.slice(0, 3), text.slice(3, 5), text.slice(5)]));
    const rest = JSON.stringify('peaceful grove beneath a silver moon, a "unicorn"\nnamed Lumina 🦄.');
    const pad = '"obfuscation":"aB3"}';
    expect(events).toEqual([
      `${HEAD}"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`,
      `${HEAD}"choices":[{"index":0,"delta":{"content":"In "},"logprobs":null,"finish_reason":null}],${pad}`,
      `${HEAD}"choices":[{"index":0,"delta":{"content":"a "},"logprobs":null,"finish_reason":null}],${pad}`,
      `${HEAD}"choices":[{"index":0,"delta":{"content":${rest}},"logprobs":null,"finish_reason":null}],${pad}`,
      `${HEAD}"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"service_tier":"default"}`,
      `${HEAD}"choices":[],"usage":{"prompt_tokens":328,"completion_tokens":52,"total_tokens":380,"prompt_tokens_details":{"cached_tokens":128,"cache_write_tokens":64},"completion_tokens_details":{"reasoning_tokens":32}},"service_tier":"default"}`,
      '[DONE]',
    ]);
  });

  test('are not sent before the first output', () => {
    const translator = RESPONSES.stream();
    const [created, started, added, part, delta] = scripted(TEXT);
    for (const event of [created, started, added, part]) {
      expect(translator.take(String(event?.type), JSON.stringify(event))).toEqual([]);
    }
    expect(translator.take('response.output_text.delta', JSON.stringify(delta))).toHaveLength(2);
  });

  test('of calls have the name once, and then only the index', () => {
    const deltas = callDeltas(translated(scripted(PARALLEL_CALLS)));
    expect(deltas.slice(0, 4)).toEqual([
      { index: 0, id: 'call_paris', type: 'function', function: { name: 'get_weather', arguments: '' } },
      { index: 0, function: { arguments: '{"location":"Paris,' } },
      { index: 0, function: { arguments: ' France"}' } },
      {
        ...{ index: 1, id: 'call_bogota', type: 'function' },
        function: { name: 'get_weather', arguments: '{"location":"Bogotá, Colombia"}' },
      },
    ]);
  });

  test('of calls are not interleaved, however long each call is', () => {
    fc.assert(
      fc.property(arbitraryResponse, arbitraryPlaces, (response, places) => {
        const indexes = callDeltas(translated(scripted(response, cutAt(places)))).map(
          (delta) => (delta as { index: number }).index,
        );
        expect(indexes).toEqual(indexes.toSorted((one, other) => one - other));
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  test('have an encrypted reasoning item as a whole, once, before the calls that follow it', () => {
    const events = translated(scripted(PARALLEL_CALLS));
    const withDetails = events.filter((data) => data.includes('reasoning_details'));
    expect(withDetails).toHaveLength(1);
    expect(withDetails[0]).toContain('"data":"gAAAAAB-first"');
    expect(events.join('')).not.toContain('incomplete');
    expect(events.indexOf(withDetails[0] ?? '')).toBeLessThan(events.findIndex((data) => data.includes('tool_calls')));
  });

  test('have the log probabilities of their text', () => {
    const { logprobs } = gather(translated(scripted(WITH_LOGPROBS)));
    expect(logprobs).toEqual([
      { token: 'Hi', logprob: -0.25, bytes: null, top_logprobs: [{ token: 'Yo', logprob: -2.5, bytes: [89, 111] }] },
    ]);
  });

  // The client's helper does not gather calls of custom tools.
  const { CALL_AFTER_TEXT: _custom, ...gatherable } = SCENARIOS;

  test.each(Object.entries(gatherable))('are gathered by the official client: %s', (_, response) =>
    expectGatheredByClient(RESPONSES, scripted(response), response),
  );
});
