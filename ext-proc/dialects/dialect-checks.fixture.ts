import fc from 'fast-check';
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream';
import { expect, test } from 'vitest';
import { isObject, type JsonObject, parseObject } from '#core/json-object.ts';
import { readBody, verdictOf } from '#test/fixtures/chat-request.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { FAILURES } from '../delivery/provider/provider-failure.ts';
import { readResponse } from '../delivery/response/read-response.ts';
import { SseSplitter } from '../delivery/response/sse-splitter.ts';
import { meaningOf } from '../delivery/response/stream-event.ts';
import type { Dialect, SentFields } from './dialect.ts';
import { gather } from './responses/gathered-stream.fixture.ts';

/** What holds for each dialect alike. */

export const NAMES = { generationId: 'gen-1', model: 'public-model', api: 'chat' as const };

/** Data of the chat events for these events. `named`: with the event's type as its SSE name. */
export function translatedBy(dialect: Dialect, events: readonly object[], named = true): string[] {
  const translator = dialect.stream();
  return events.flatMap((event) => {
    const type = named && 'type' in event ? String(event.type) : '';
    return translator.take(type, JSON.stringify(event));
  });
}

/**
 * A whole answer in the form in which a stream is gathered, but for log probabilities. A stream
 * begins with an empty text.
 */
export function wholeOf(dialect: Dialect, answer: object) {
  const { choices, usage } = dialect.response(parseObject(JSON.stringify(answer)) ?? {});
  const [choice] = Array.isArray(choices) ? choices : [];
  const { message, finish_reason: finishReason } = choice;
  const gathered = { ...message, content: message.content ?? '' };
  return { message: gathered, finishReason, usage, isDone: true, error: undefined };
}

/** Clients send messages back, often without the members that OpenAI's do not have. */
export function expectAccepted(dialect: Dialect, answer: object): void {
  const { choices } = dialect.response(parseObject(JSON.stringify(answer)) ?? {});
  const [{ message }] = choices as [{ readonly message: JsonObject }];
  const { reasoning_content: _, reasoning_details: _details, phase: _phase, ...official } = message;
  for (const sent of [message, official]) expect(verdictOnMessage(sent)).toBe('ok');
  const speaksOtherwise = message.tool_calls !== undefined || message.refusal !== null;
  if (!speaksOtherwise) expect(message.content).toEqual(expect.any(String));
}

function verdictOnMessage(message: object | undefined): string {
  return verdictOf(readBody({ model: 'm', messages: [{ role: 'user', content: 'x' }, message] }));
}

/** The verdict on the last event of a stream, as the rest of the gateway reads it. */
export function verdictOn(events: readonly string[]) {
  return meaningOf({ type: '', data: events.at(-1) ?? '' });
}

/** Deltas of tool calls in the chunks of a stream. */
export function callDeltas(events: readonly string[]): unknown[] {
  return events
    .map((data) => parseObject(data)?.choices)
    .flatMap((choices) => (Array.isArray(choices) ? choices : []))
    .flatMap(({ delta }) => delta.tool_calls ?? []);
}

/** An error within a stream is its last event. */
export function expectError(dialect: Dialect, begun: readonly object[], event: object, error: object): void {
  const events = translatedBy(dialect, [...begun, event, ...begun]);
  expect(gather(events)).toMatchObject({ error, finishReason: undefined, isDone: false });
  expect(events.filter((data) => data.includes('"error"'))).toHaveLength(1);
  expect(events.at(-1)).toContain('"error"');
}

/** A stream that lacks its last events gives no end, and nothing that the whole answer lacks. */
export function expectCutStreams(dialect: Dialect, events: readonly object[], answer: object): void {
  const { message } = wholeOf(dialect, answer);
  for (let length = 0; length < events.length; length++) {
    const cut = gather(translatedBy(dialect, events.slice(0, length)));
    expect(cut).toMatchObject({ finishReason: undefined, usage: undefined, isDone: false, error: undefined });
    expect(message.reasoning_content).toContain(cut.message.reasoning_content ?? '');
    expect(message.content ?? '').toContain(cut.message.content ?? '');
    const calls = (cut.message.tool_calls ?? []) as { id: string; function: { arguments: string } }[];
    for (const [index, call] of calls.entries()) {
      expect(message.tool_calls[index]).toMatchObject({ id: call.id });
      expect(message.tool_calls[index].function.arguments.startsWith(call.function.arguments)).toBe(true);
    }
  }
}

/** The client of chat completions gathers what the whole answer has. */
export async function expectGatheredByClient(dialect: Dialect, events: readonly object[], answer: object) {
  const lines = translatedBy(dialect, events).filter((data) => data !== '[DONE]');
  const stream = ChatCompletionStream.fromReadableStream(new Blob(lines.map((line) => `${line}\n`)).stream());
  const { message, finishReason, usage } = wholeOf(dialect, answer);
  const gathered = await stream.finalChatCompletion();
  expect(gathered).toMatchObject({ choices: [{ finish_reason: finishReason }], usage });
  expect(verdictOnMessage(gathered.choices[0]?.message)).toBe('ok');
  expect(gathered.choices[0]?.logprobs?.content ?? []).toEqual(gather(lines).logprobs);
  if (finishReason === 'length' || finishReason === 'content_filter') return;
  expect(gathered.choices[0]?.message).toMatchObject({ content: message.content ?? '', refusal: message.refusal });
  expect(gathered.choices[0]?.message.tool_calls ?? []).toMatchObject(message.tool_calls ?? []);
}

export function testCutConnection(dialect: Dialect, events: readonly { readonly type: string }[]): void {
  const bytes = Buffer.from(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
  const timeless = (data: string) => data.replace(/"created":\d+/, '');
  const all = translatedBy(dialect, events).map(timeless);

  /** Data of the chat events, for a clean end after so many bytes. */
  function cutAfter(length: number): string[] {
    const splitter = new SseSplitter(1e6);
    const translator = dialect.stream();
    const out: string[] = [];
    const takeAll = () => {
      for (let event = splitter.next(); event !== undefined; event = splitter.next()) {
        out.push(...translator.take(event.type, event.data));
      }
    };
    splitter.push(bytes.subarray(0, length));
    takeAll();
    splitter.finish();
    takeAll();
    return out;
  }

  test('a connection that is cut at any byte gives its complete events, and no end', () => {
    for (let length = 0; length < bytes.length - 2; length++) {
      const out = cutAfter(length);
      const isCutEvent = out.length > 0 && verdictOn(out) === FAILURES.malformed;
      const whole = (isCutEvent ? out.slice(0, -1) : out).map(timeless);
      expect(whole).toEqual(all.slice(0, whole.length));
      expect(out).not.toContain('[DONE]');
    }
    expect(cutAfter(bytes.length - 2).map(timeless)).toEqual(all);
  });
}

/** Events of known types, whose members are known names and words in the wrong places. */
export function testHostileEvents(
  dialect: Dialect,
  types: readonly string[],
  names: readonly string[],
  words: readonly string[],
): void {
  const hostile = fc.letrec((again) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(null, true, -1, 1e300, 0, 1, ...words),
      fc.string(),
      fc.array(again('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...names, '__proto__'), again('value'), { maxKeys: 6 }),
    ),
  })).value;

  test('input that is not a stream of the API never throws, and gives chunks, an error or nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom(...types), hostile), { maxLength: 12 }), (events) => {
        const translator = dialect.stream();
        for (const [type, value] of events) {
          const data = JSON.stringify(typeof value === 'object' && value !== null ? { ...value, type } : value);
          for (const out of translator.take(type, data)) {
            if (out === '[DONE]' || out === data) continue;
            const chunk = parseObject(out);
            expect(chunk?.error !== undefined || Array.isArray(chunk?.choices)).toBe(true);
          }
        }
      }),
      { numRuns: propertyRuns(2000) },
    );
  });
}

export function testAnyResponse(dialect: Dialect, response: fc.Arbitrary<JsonObject>): void {
  test.each<[string, JsonObject, object]>([
    [
      'an error in chat’s form',
      { error: { message: 'No.', code: 429, type: 'x' } },
      { code: 'no_capacity', result: 'error_body' },
    ],
    ['an error that is a text', { error: 'No.' }, { code: 'upstream_error', result: 'error_body' }],
    ['something else', { detail: 'Not found' }, FAILURES.malformed],
    ['a chat completion', { object: 'chat.completion', choices: [{ index: 0 }] }, FAILURES.malformed],
  ])('fails for %s', (_, body, failure) => {
    const read = readResponse(JSON.stringify(dialect.response(body)), NAMES);
    expect(read).toMatchObject({ kind: 'failure', ...failure });
  });

  test('any response becomes an error or a completion, and nothing is thrown', () => {
    fc.assert(
      fc.property(fc.oneof(response, fc.dictionary(fc.string(), fc.jsonValue())), (body) => {
        const completion = dialect.response(body);
        const { error, choices } = parseObject(JSON.stringify(completion)) ?? {};
        if (choices === undefined) expect(isObject(error) || Object.keys(completion).length === 0).toBe(true);
        expect(['response', 'failure']).toContain(readResponse(JSON.stringify(completion), NAMES).kind);
      }),
      { numRuns: propertyRuns(2000) },
    );
  });
}

export const SENT: SentFields = {
  ...{ model: 'upstream', outputLimit: 1000, stream: false, isReasoning: false },
  ...{ identities: new Map(), extraFields: [] },
};

/** What a provider is sent for this body. */
export function bodyBy(dialect: Dialect, chat: JsonObject, sent: Partial<SentFields> = {}): JsonObject {
  const translated = dialect.request({ messages: [], ...chat }, { ...SENT, ...sent });
  if (translated.kind !== 'body') throw new Error(translated.problem);
  return translated.body;
}

export function testUnchangedBody(dialect: Dialect, chat: fc.Arbitrary<object>): void {
  test('does not change the body from which it is made', () => {
    fc.assert(
      fc.property(chat, (body) => {
        const before = JSON.stringify(body);
        dialect.request({ ...body }, SENT);
        expect(JSON.stringify(body)).toBe(before);
      }),
      { numRuns: propertyRuns(200) },
    );
  });
}
