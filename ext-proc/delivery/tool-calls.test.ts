import Anthropic from '@anthropic-ai/sdk';
import fc from 'fast-check';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { isObject, type JsonObject, parseObject } from '#core/json-object.ts';
import { NO_USAGE } from '#core/pricing.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { asCompletion } from '../dialects/completion.ts';
import { OutputOrder, piecesOf } from '../doors/responses/output-order.ts';
import { admittedRequest } from './admitted-request.fixture.ts';
import { gathered, isOneAfterAnother, messagesRequest, readStream, responsesRequest } from './at-door.fixture.ts';
import { ChunkRepairs } from './response/repairs.ts';
import { StreamWriter } from './stream/stream-writer.ts';

interface Called {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

const answering = (text: string) => async () =>
  new Response(text, { headers: { 'content-type': 'text/event-stream' } });

/** A client of each API, and the calls that its official library gathers. */
const CLIENTS = {
  chat: {
    admitted: async () => admittedRequest({ stream: true }),
    async calls(text: string): Promise<Called[]> {
      expectNamedOnce(text);
      const openai = new OpenAI({ apiKey: 'k', fetch: answering(text) });
      const completion = await openai.chat.completions.stream({ model: 'm', messages: [] }).finalChatCompletion();
      return (completion.choices[0]?.message.tool_calls ?? []).flatMap((call) =>
        call.type === 'function' ? [{ id: call.id, ...named(call.function) }] : [],
      );
    },
  },
  responses: {
    admitted: () => responsesRequest('chat', {}, { stream: true }),
    async calls(text: string): Promise<Called[]> {
      expect(isOneAfterAnother(await readStream(text)), text).toBe(true);
      const { output } = await gathered(text);
      return output.flatMap((item) => (item.type === 'function_call' ? [{ id: item.call_id, ...named(item) }] : []));
    },
  },
  messages: {
    admitted: () => messagesRequest('chat', {}, { stream: true }),
    async calls(text: string): Promise<Called[]> {
      const anthropic = new Anthropic({ apiKey: 'k', fetch: answering(text) });
      const { content } = await anthropic.messages
        .stream({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'x' }] })
        .finalMessage();
      return content.flatMap((block) =>
        block.type === 'tool_use' ? [{ id: block.id, name: block.name, input: block.input }] : [],
      );
    },
  },
};

function named({ name, arguments: text }: { readonly name: string; readonly arguments: string }) {
  return { name, input: JSON.parse(text === '' ? '{}' : text) };
}

/** Libraries for Python append each name and id to those before. */
function expectNamedOnce(text: string): void {
  const deltas = text
    .split('\n\n')
    .flatMap((event) => parseObject(event.slice('data: '.length))?.choices ?? [])
    .flatMap((choice) => (isObject(choice) && isObject(choice.delta) ? (choice.delta.tool_calls ?? []) : []));
  const said = (deltas as JsonObject[]).map((call) => [
    isObject(call.function) && call.function.name ? `name of ${call.index}` : '',
    call.id ? `id of ${call.index}` : '',
  ]);
  const all = said.flat().filter((one) => one !== '');
  expect(new Set(all).size, text).toBe(all.length);
}

/** What a client of the API gathers from a provider's deltas of tool calls. */
async function callsAt(api: keyof typeof CLIENTS, deltas: readonly JsonObject[]): Promise<Called[]> {
  const { admitted, calls } = CLIENTS[api];
  const writer = new StreamWriter(await admitted(), false);
  const repairs = new ChunkRepairs('gen-1');
  const chunks = [
    ...deltas.map((call) => ({ index: 0, delta: { role: 'assistant', tool_calls: [call] }, finish_reason: null })),
    { index: 0, delta: {}, finish_reason: 'tool_calls' },
  ];
  const events = chunks.map((choice) => {
    const text = JSON.stringify({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [choice],
    });
    const completion = asCompletion(parseObject(text) ?? {});
    const repaired = repairs.repair(text, completion ?? { choices: [] });
    return writer.chunk(repaired.text, repaired.completion);
  });
  return calls(events.join('') + writer.ended({ usageCounted: false, usage: NO_USAGE, costUsd: 0 }));
}

const called = (name: string | null | undefined, args: unknown) => ({
  function: { ...(name === undefined ? {} : { name }), arguments: args },
});
const PARIS = { id: 'a', name: 'weather', input: { city: 'Paris' } };
const ROME = { id: 'b', name: 'weather', input: { city: 'Rome' } };

/** A delta of the first call of a stream. */
const said = (name: string | undefined, args: unknown, more: JsonObject = {}): JsonObject => ({
  ...{ index: 0, ...called(name, args) },
  ...more,
});
const ofCall = (id: string) => ({ id, type: 'function' });
const [A, B] = [ofCall('a'), ofCall('b')];

const STREAMS: [string, readonly JsonObject[], (readonly Called[])?][] = [
  [
    'the name in every delta (MiniMax over NVIDIA NIM)',
    [said('weather', '', A), said('weather', '{"city":'), said('weather', '"Paris"}')],
  ],
  ['name and id again in the last delta (vLLM)', [said('weather', '{"city":"Paris"}', A), said('weather', '', A)]],
  ['the id in every delta', [said('weather', '{"ci', A), said(undefined, 'ty":"Paris"}', A)]],
  ['empty name and id in later deltas (DashScope)', [said('weather', '{"city":', A), said('', '"Paris"}', ofCall(''))]],
  ['a name that is empty at first', [said('', '{"city":', A), said('weather', '"Paris"}', A)]],
  [
    'one index for parallel calls (Ollama)',
    [said('weather', '{"city":"Paris"}', A), said('weather', '{"city":"Rome"}', B)],
    [PARIS, ROME],
  ],
  [
    'a first index above zero',
    [
      said('weather', '{"city":', { ...A, index: 1 }),
      said(undefined, '"Paris"}', { index: 1 }),
      said('weather', '{"city":"Rome"}', { ...B, index: 2 }),
    ],
    [PARIS, ROME],
  ],
  [
    'another id, without a name, in each delta',
    [said('weather', '{"city":', A), said(undefined, '"Paris"}', ofCall('x'))],
  ],
  ['arguments as an object', [said('weather', { city: 'Paris' }, A)]],
  ['no type (Mistral)', [said('weather', '{"city":', { id: 'a' }), said(undefined, '"Paris"}')]],
  [
    'null for what is absent',
    [said('weather', null, A), said(undefined, '{"city":"Paris"}', { id: null, type: null })],
  ],
  [
    'no ids',
    [said('weather', '{"city":"Paris"}'), said('clock', '{"city":"Rome"}', { index: 1 })],
    [
      { ...PARIS, id: 'call_gen-1_0' },
      { id: 'call_gen-1_1', name: 'clock', input: { city: 'Rome' } },
    ],
  ],
];

const APIS = ['chat', 'responses', 'messages'] as const;

describe.each(APIS)('a client of %s gets the calls that the model made', (api) => {
  test.each(STREAMS)('from deltas with %s', async (_, deltas, calls = [PARIS]) => {
    expect(await callsAt(api, deltas)).toEqual(calls);
  });
});

/** How a provider writes the deltas of its calls. */
const STYLE = fc
  .record({
    index: fc.constantFrom('own', 'zero', 'from one', 'none'),
    laterId: fc.constantFrom('none', 'null', 'empty', 'same', 'another'),
    laterName: fc.constantFrom('none', 'null', 'empty', 'same'),
    type: fc.constantFrom('each', 'none', 'null', 'empty'),
    firstName: fc.constantFrom('at once', 'none', 'empty'),
    hasObject: fc.boolean(),
    endsTwice: fc.boolean(),
    isMixed: fc.boolean(),
  })
  // Without an own index, a name begins a call, if the id is not that of another delta.
  .filter(({ index, laterId, laterName, firstName, endsTwice }) => {
    const namesAgain = laterName === 'same' || endsTwice || firstName !== 'at once';
    if (laterId === 'another' && namesAgain) return false;
    if (index === 'own' || index === 'from one') return true;
    return firstName === 'at once' && (index === 'zero' || !namesAgain || laterId === 'same');
  });
type Style = typeof STYLE extends fc.Arbitrary<infer T> ? T : never;

const CALLS = fc
  .array(
    fc.record({ name: fc.constantFrom('f', 'g'), input: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }) }),
    { minLength: 1, maxLength: 3 },
  )
  .map((calls) => calls.map((call, at): Called => ({ id: `call_${at}`, ...call })));

function deltasOf({ id, name, input }: Called, at: number, style: Style): JsonObject[] {
  const text = JSON.stringify(input);
  const half = text.length / 2;
  const pieces = style.hasObject
    ? [input]
    : ['', text.slice(0, half), text.slice(half), ...(style.endsTwice ? [''] : [])];
  const index = { own: { index: at }, zero: { index: 0 }, 'from one': { index: at + 1 }, none: {} }[style.index];
  const names = { none: undefined, null: null, empty: '', same: name };
  const ids = { none: {}, null: { id: null }, empty: { id: '' }, same: { id }, another: { id: `${id}_other` } };
  const types = { each: { type: 'function' }, none: {}, null: { type: null }, empty: { type: '' } };
  const isLate = style.firstName !== 'at once' && pieces.length > 1;
  return pieces.map((args, piece) => {
    const first = isLate ? (style.firstName === 'empty' ? '' : undefined) : name;
    const isNamed = (isLate && piece === 1) || (style.endsTwice && piece === pieces.length - 1);
    const said = piece === 0 ? first : isNamed ? name : names[style.laterName];
    const withId = piece === 0 || (style.endsTwice && isNamed) ? { id } : ids[style.laterId];
    return { ...index, ...withId, ...types[style.type], ...called(said, args) };
  });
}

test('input of a call that never began is dropped', () => {
  const order = new OutputOrder(() => 'written');
  expect(order.take(piecesOf({ tool_calls: [called(undefined, '{}')] }, undefined))).toBe('');
});

test('the calls are the same in whatever form a provider writes them', async () => {
  await fc.assert(
    fc.asyncProperty(CALLS, STYLE, async (calls, style) => {
      const each = calls.map((call, at) => deltasOf(call, at, style));
      const longest = Math.max(...each.map(({ length }) => length));
      const isMixed = style.isMixed && (style.index === 'own' || style.index === 'from one');
      const mixed = Array.from({ length: longest }, (_, at) => each.flatMap((deltas) => deltas.slice(at, at + 1)));
      for (const api of APIS) {
        expect(await callsAt(api, isMixed ? mixed.flat() : each.flat()), api).toEqual(
          JSON.parse(JSON.stringify(calls)),
        );
      }
    }),
    { numRuns: propertyRuns(1_000) },
  );
});
