import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isObject, type JsonObject } from '#core/json-object.ts';
import { chargeNanoUsd, NO_PRICES, type Prices, type TokenUsage } from '#core/pricing.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { messageWith, text } from '../dialects/anthropic/scenarios.fixture.ts';
import { scripted as scriptedMessage } from '../dialects/anthropic/scripted-stream.fixture.ts';
import { message, responseWith } from '../dialects/responses/scenarios.fixture.ts';
import { scripted as scriptedResponse } from '../dialects/responses/scripted-stream.fixture.ts';
import { isInvalid } from '../doors/door.ts';
import { doorOf } from '../doors/reading/doors.ts';
import { translateRequest } from '../doors/reading/translate-request.ts';
import { DIALECTS } from './provider/dialects.ts';
import { translateBody } from './provider/translate-body.ts';
import { readUsage } from './response/usage.ts';

/**
 * One conversation costs the same through each door and target, where the provider counts the words
 * that it is sent and says.
 */
const TARGETS = ['chat', 'responses', 'anthropic'] as const;
const DOORS = ['chat', 'responses', 'messages'] as const;
type Target = (typeof TARGETS)[number];
type DoorName = (typeof DOORS)[number];

interface Turn {
  readonly asks: string;
  readonly call: { readonly said: string | undefined; readonly input: string; readonly result: string } | undefined;
  readonly reply: string;
}

interface Conversation {
  readonly system: string | undefined;
  readonly turns: readonly Turn[];
  readonly last: string;
}

const words = fc
  .array(fc.stringMatching(/^[a-zé🦄"\\]{1,8}$/u), { minLength: 1, maxLength: 6 })
  .map((list) => list.join(' '));
const sometimes = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const call = fc.record({ said: sometimes(words), input: words, result: words });
const turn = fc.record({ asks: words, call: sometimes(call), reply: words });
const conversation: fc.Arbitrary<Conversation> = fc.record({
  ...{ system: sometimes(words), turns: fc.array(turn, { maxLength: 4 }), last: words },
});

const SCHEMA = { type: 'object', properties: { q: { type: 'string', description: 'what to find' } } };
const TOOL = { name: 'find', description: 'finds things' };
const given = (list: readonly (object | undefined)[]) => list.filter((one) => one !== undefined);

const inputOf = ({ input }: { readonly input: string }) => JSON.stringify({ q: input });

/** The conversation as a client of each API writes it. */
const BODIES: Readonly<Record<DoorName, (conversation: Conversation) => JsonObject>> = {
  chat: ({ system, turns, last }) => ({
    model: 'm',
    max_tokens: 100,
    tools: [{ type: 'function', function: { ...TOOL, parameters: SCHEMA } }],
    messages: given([
      system === undefined ? undefined : { role: 'system', content: system },
      ...turns.flatMap(({ asks, call, reply }, at) => [
        { role: 'user', content: asks },
        call && {
          role: 'assistant',
          content: call.said ?? null,
          tool_calls: [{ id: `c${at}`, type: 'function', function: { name: 'find', arguments: inputOf(call) } }],
        },
        call && { role: 'tool', tool_call_id: `c${at}`, content: call.result },
        { role: 'assistant', content: reply },
      ]),
      { role: 'user', content: last },
    ]),
  }),
  responses: ({ system, turns, last }) => ({
    model: 'm',
    max_output_tokens: 100,
    ...(system === undefined ? {} : { instructions: system }),
    tools: [{ type: 'function', ...TOOL, parameters: SCHEMA }],
    input: given([
      ...turns.flatMap(({ asks, call, reply }, at) => [
        { role: 'user', content: [{ type: 'input_text', text: asks }] },
        call?.said === undefined ? undefined : { role: 'assistant', content: call.said },
        call && {
          ...{ type: 'function_call', call_id: `c${at}`, name: 'find' },
          arguments: inputOf(call),
        },
        call && { type: 'function_call_output', call_id: `c${at}`, output: call.result },
        { role: 'assistant', content: [{ type: 'output_text', text: reply }] },
      ]),
      { role: 'user', content: last },
    ]),
  }),
  messages: ({ system, turns, last }) => ({
    model: 'm',
    max_tokens: 100,
    ...(system === undefined ? {} : { system }),
    tools: [{ ...TOOL, input_schema: SCHEMA }],
    messages: given([
      ...turns.flatMap(({ asks, call, reply }, at) => [
        { role: 'user', content: [{ type: 'text', text: asks }] },
        call && {
          role: 'assistant',
          content: given([
            call.said === undefined ? undefined : { type: 'text', text: call.said },
            { type: 'tool_use', id: `c${at}`, name: 'find', input: { q: call.input } },
          ]),
        },
        call && { role: 'user', content: [{ type: 'tool_result', tool_use_id: `c${at}`, content: call.result }] },
        { role: 'assistant', content: reply },
      ]),
      { role: 'user', content: last },
    ]),
  }),
};

/** The body that a target gets. Where the client's own passes, its conversation does not change. */
function sentTo(target: Target, door: DoorName, body: JsonObject): JsonObject {
  const bytes = Buffer.from(JSON.stringify(body));
  const asChat = door === 'chat' ? undefined : readAt(door, bytes);
  if (asChat?.mayPass && doorOf(door)?.providerApi === target) return body;
  const fields = { model: 'm', outputLimit: 100, stream: false, isReasoning: false, extraFields: [] };
  const job = { bytes: asChat?.bytes ?? bytes, api: target, fields, shaping: [], reasoning: [] };
  const translated = translateBody(job);
  if (translated.kind !== 'body') throw new Error(translated.problem);
  return JSON.parse(Buffer.from(translated.bytes).toString());
}

function readAt(api: 'responses' | 'messages', bytes: Buffer) {
  const read = translateRequest({ bytes, api, model: { reasoningEfforts: [] }, extraFields: [] });
  if (read === undefined || isInvalid(read)) throw new Error(JSON.stringify(read));
  return read;
}

const PROMPT = ['messages', 'input', 'instructions', 'system', 'tools'];
/** Members that are no words of the prompt. */
const FRAME: ReadonlySet<string> = new Set(['type', 'role', 'id', 'call_id', 'tool_call_id', 'tool_use_id', 'status']);

/** Words of a prompt, as a provider counts them. */
function wordsIn(body: JsonObject): number {
  return PROMPT.reduce((sum, name) => sum + countWords(body[name], name), 0);
}

function countWords(value: unknown, name: string): number {
  if (FRAME.has(name)) return 0;
  if (typeof value === 'string')
    return name === 'arguments' ? countWords(JSON.parse(value), '') : value.split(/\s+/).filter(Boolean).length;
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + countWords(one, ''), 0);
  if (!isObject(value)) return 0;
  return Object.entries(value).reduce((sum, [key, one]) => sum + countWords(one, key), 0);
}

interface Counted {
  readonly prompt: number;
  readonly cached: number;
  readonly output: number;
}

/** What a target reports, whole and as the last word of its stream. */
function reported(target: Target, said: string, { prompt, cached, output }: Counted): unknown[] {
  const dialect = DIALECTS[target];
  if (dialect === undefined) {
    const details = { prompt_tokens_details: { cached_tokens: cached } };
    return [{ prompt_tokens: prompt, completion_tokens: output, total_tokens: prompt + output, ...details }];
  }
  const [body, events] = target === 'responses' ? responseOf() : messageOf();
  const stream = dialect.stream();
  for (const event of events) stream.take(event.type, JSON.stringify(event));
  return [dialect.response(body as JsonObject).usage, stream.reported?.usage];

  function responseOf() {
    const response = responseWith([message(said)], {
      usage: {
        ...{ input_tokens: prompt, output_tokens: output, total_tokens: prompt + output },
        input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
        output_tokens_details: { reasoning_tokens: 0 },
      },
    });
    return [response as object, scriptedResponse(response)] as const;
  }

  function messageOf() {
    const { usage } = messageWith([]);
    const counts = { input_tokens: prompt - cached, cache_read_input_tokens: cached, output_tokens: output };
    const nothing = { cache_creation_input_tokens: 0, cache_creation: null, output_tokens_details: null };
    const whole = messageWith([text(said)], 'end_turn', { usage: { ...usage, ...counts, ...nothing } });
    return [whole as object, scriptedMessage(whole)] as const;
  }
}

/** Prompt and output as the response at a door states them. */
function stated(door: DoorName, usage: TokenUsage): readonly unknown[] {
  const json = doorOf(door)?.usage({ usage, usageCounted: false, costUsd: 0.25 });
  if (json === undefined) return [usage.promptTokens, usage.cachedTokens, usage.completionTokens];
  const { input_tokens: input, output_tokens: output, input_tokens_details: details, ...more } = JSON.parse(json);
  expect(more.cost).toBe(0.25);
  const cached = details?.cached_tokens ?? more.cache_read_input_tokens;
  return [door === 'messages' ? input + cached : input, cached, output];
}

const price = fc.bigInt({ min: 1n, max: 100_000_000n });
const prices = fc
  .record({ inputPicoUsd: price, cachedInputPicoUsd: price, outputPicoUsd: price })
  .map((own): Prices => ({ ...NO_PRICES, ...own }));

test('one conversation costs the same through each door and each API of a target', () => {
  fc.assert(
    fc.property(
      conversation,
      words,
      fc.double({ min: 0, max: 1, noNaN: true }),
      prices,
      (asked, said, share, table) => {
        const expected = wordsIn(BODIES.chat(asked));
        const costs = DOORS.flatMap((door) =>
          TARGETS.flatMap((target) => {
            const prompt = wordsIn(sentTo(target, door, BODIES[door](asked)));
            expect([door, target, prompt]).toEqual([door, target, expected]);
            const counted = { prompt, cached: Math.floor(prompt * share), output: said.split(' ').length };
            return reported(target, said, counted).map((report) => {
              const usage = readUsage(report, { contextWindow: 100_000, completions: 1 });
              if (usage === undefined) throw new Error(`${target}: ${JSON.stringify(report)}`);
              expect(stated(door, usage)).toEqual([prompt, counted.cached, counted.output]);
              return chargeNanoUsd(table, usage);
            });
          }),
        );
        expect(new Set(costs).size).toBe(1);
        expect(costs.length).toBe(15);
        expect(costs[0]).toBeGreaterThan(0n);
      },
    ),
    { numRuns: propertyRuns(400) },
  );
});
