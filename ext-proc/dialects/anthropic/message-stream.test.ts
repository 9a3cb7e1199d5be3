import { MessageStream } from '@anthropic-ai/sdk/lib/MessageStream';
import type { RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages/messages';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { callDeltas, expectCutStreams, expectGatheredByClient, wholeOf } from '../dialect-checks.fixture.ts';
import { arbitraryPlaces, cutAt } from '../responses/arbitrary-response.fixture.ts';
import { gather } from '../responses/gathered-stream.fixture.ts';
import { ANTHROPIC } from './anthropic.ts';
import { arbitraryMessage } from './arbitrary-message.fixture.ts';
import {
  CALL_WITHOUT_INPUT,
  CITED,
  INTERLEAVED,
  messageWith,
  PARALLEL_CALLS,
  SCENARIOS,
  TEXT,
  TWO_TEXTS,
  text,
  thinking,
} from './scenarios.fixture.ts';
import { scripted, translated } from './scripted-stream.fixture.ts';

/** Message as JSON gives it, in the form in which a stream is gathered. */
const whole = (message: object) => ({ ...wholeOf(ANTHROPIC, message), logprobs: [] });

describe('a stream gives the same as the whole message', () => {
  test.each(Object.entries(SCENARIOS))('%s', (_, message) => {
    expect(gather(translated(scripted(message)))).toEqual(whole(message));
    expect(gather(translated(scripted(message), false))).toEqual(whole(message));
  });

  test('for any message, however its texts are cut', () => {
    fc.assert(
      fc.property(arbitraryMessage, arbitraryPlaces, (message, places) => {
        expect(gather(translated(scripted(message, cutAt(places))))).toEqual(whole(message));
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  test('with any white space, pings and events of later versions', () => {
    const spaces = fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(arbitraryMessage, arbitraryPlaces, spaces, (message, places, widths) => {
        const translator = ANTHROPIC.stream();
        const events = scripted(message, cutAt(places)).flatMap((event, at) => {
          const data = JSON.stringify(event).replace(/\}$/, `${' '.repeat(widths[at % widths.length] ?? 0)}}`);
          return [
            ...translator.take(event.type, data),
            ...translator.take('ping', '{"type": "ping"}'),
            ...translator.take('', '{"type":"something_new","index":0,"delta":{"type":"text_delta","text":"x"}}'),
          ];
        });
        expect(gather(events)).toEqual(whole(message));
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  test('even without the ends of its blocks', () => {
    fc.assert(
      fc.property(arbitraryMessage, arbitraryPlaces, (message, places) => {
        const events = scripted(message, cutAt(places)).filter(({ type }) => type !== 'content_block_stop');
        const { content, tool_calls: calls, reasoning_content: reasoning } = whole(message).message;
        const gathered = gather(translated(events)).message;
        expect(gathered).toMatchObject({
          content,
          ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
        });
        expect(gathered.tool_calls).toEqual(calls);
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  const isOpening = (event: object) =>
    'content_block' in event && /^\{"type":"(text|thinking)"/.test(JSON.stringify(event.content_block));

  test.each<[string, (event: RawMessageStreamEvent) => boolean]>([
    ['indices', () => true],
    ['indices and ends of blocks', ({ type }) => type !== 'content_block_stop'],
    ['indices and beginnings of texts and thoughts', (event) => !isOpening(event)],
    ['indices, ends and beginnings', (event) => event.type !== 'content_block_stop' && !isOpening(event)],
  ])('even without %s', (_, isKept) => {
    for (const message of [PARALLEL_CALLS, CALL_WITHOUT_INPUT, INTERLEAVED, TWO_TEXTS]) {
      const events = scripted(message).filter(isKept);
      expect(gather(translated(events.map((event) => ({ ...event, index: undefined }))))).toEqual(whole(message));
    }
  });

  test('even with alternating blocks', () => {
    const [start, ...rest] = scripted(messageWith([text('One two three.'), thinking('Hm. Well. So.', 'sig')]));
    const of = (index: number) => rest.filter((event) => 'index' in event && event.index === index);
    const mixed = of(1).flatMap((event, at) => [event, ...of(0).slice(at + 2, at + 3)]);
    const events = [start ?? {}, ...of(0).slice(0, 2), ...mixed, ...rest.slice(-2)];
    expect(gather(translated(events)).message).toMatchObject({
      ...{ content: 'One two three.', reasoning_content: 'Hm. Well. So.' },
      reasoning_details: [{ text: 'Hm. Well. So.', signature: 'sig' }],
    });
  });

  test('and a cut stream gives no end, and nothing that the whole message lacks', () => {
    expectCutStreams(ANTHROPIC, scripted(PARALLEL_CALLS), PARALLEL_CALLS);
  });
});

describe('scripted streams are read by the official client', () => {
  test.each(Object.entries(SCENARIOS))('%s', async (_, message) => {
    const lines = scripted(message).map((event) => `${JSON.stringify(event)}\n`);
    const stream = MessageStream.fromReadableStream(new Blob(lines).stream());
    const { parsed_output: _parsed, ...read } = (await stream.finalMessage()) as object as Record<string, unknown>;
    expect(JSON.parse(JSON.stringify(read))).toMatchObject(JSON.parse(JSON.stringify(message)));
  });
});

const HEAD =
  /^\{"id":"msg_01XFDUDYJgAACzvnptvVoYEL","object":"chat.completion.chunk","created":\d{10},"model":"claude-sonnet-5-5",/;

describe('chunks', () => {
  test('of a text, byte for byte', () => {
    const events = translated(scripted(TEXT, (text) => [text.slice(0, 3), text.slice(3, 5), text.slice(5)]));
    const rest = JSON.stringify('peaceful grove beneath a silver moon, a "unicorn"\nnamed Lumina 🦄.');
    expect(events.map((data) => data.replace(HEAD, '{'))).toEqual([
      '{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}',
      '{"choices":[{"index":0,"delta":{"content":"In "},"logprobs":null,"finish_reason":null}]}',
      '{"choices":[{"index":0,"delta":{"content":"a "},"logprobs":null,"finish_reason":null}]}',
      `{"choices":[{"index":0,"delta":{"content":${rest}},"logprobs":null,"finish_reason":null}]}`,
      '{"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"service_tier":"default"}',
      '{"choices":[],"usage":{"prompt_tokens":2400,"completion_tokens":52,"total_tokens":2452,"prompt_tokens_details":{"cached_tokens":2000,"cache_write_tokens":300},"completion_tokens_details":{"reasoning_tokens":32},"cache_creation":{"ephemeral_5m_input_tokens":200,"ephemeral_1h_input_tokens":100}},"service_tier":"default"}',
      '[DONE]',
    ]);
  });

  test('are not sent before the first output', () => {
    const translator = ANTHROPIC.stream();
    const [start, begun, delta] = scripted(CITED);
    expect(translator.take('message_start', JSON.stringify(start))).toEqual([]);
    expect(translator.take('content_block_start', JSON.stringify(begun))).toEqual([]);
    expect(translator.take('content_block_delta', JSON.stringify(delta))).toHaveLength(2);
  });

  test('of calls have the name once, and then only the index', () => {
    const deltas = callDeltas(translated(scripted(PARALLEL_CALLS)));
    expect(deltas.slice(0, 4)).toEqual([
      { index: 0, id: 'toolu_01paris', type: 'function', function: { name: 'get_weather', arguments: '' } },
      { index: 0, function: { arguments: '{"location":"Paris,' } },
      { index: 0, function: { arguments: ' France"}' } },
      { index: 1, id: 'toolu_02bogota', type: 'function', function: { name: 'get_weather', arguments: '' } },
    ]);
  });

  test('repeat signed thinking as a whole, once, before the calls that follow it', () => {
    const events = translated(scripted(PARALLEL_CALLS));
    const withDetails = events.filter((data) => data.includes('reasoning_details'));
    expect(withDetails).toHaveLength(1);
    expect(withDetails[0]).toContain('"text":"Both cities.\\n\\nOne call for each.","signature":"EqQBCgIYAhIM1gbcDa9G');
    expect(events.indexOf(withDetails[0] ?? '')).toBeLessThan(events.findIndex((data) => data.includes('tool_calls')));
  });

  test.each([
    [{ type: 'text', text: '' }, 'text_delta', 'text'],
    [{ type: 'thinking', thinking: '', signature: '' }, 'thinking_delta', 'thinking'],
    [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }, 'input_json_delta', 'partial_json'],
  ])('for further %o are made without parsing', (content_block, type, name) => {
    const translator = ANTHROPIC.stream();
    translator.take('', JSON.stringify({ type: 'content_block_start', index: 1, content_block }));
    const first = JSON.stringify({ type: 'content_block_delta', index: 1, delta: { type, [name]: 'x' } });
    translator.take('content_block_delta', first);
    const parse = vi.spyOn(JSON, 'parse');
    for (let at = 0; at < 100; at++) {
      const event = { type: 'content_block_delta', index: 1, delta: { type, [name]: `"${at}"\n` } };
      const data = JSON.stringify(event).replace(/\}$/, `${' '.repeat(at % 9)}}`);
      expect(translator.take('content_block_delta', data)).toEqual([expect.stringContaining(`\\"${at}\\"\\n`)]);
    }
    const parsed = parse.mock.calls.length;
    parse.mockRestore();
    expect(parsed).toBeLessThan(10);
  });

  test.each(Object.entries(SCENARIOS))('are gathered by the client of chat completions: %s', (_, message) =>
    expectGatheredByClient(ANTHROPIC, scripted(message), message),
  );
});
