import { describe, expect, test } from 'vitest';
import { collectGarbage } from '#test/fixtures/collect-garbage.ts';
import { asCompletion } from '../../dialects/completion.ts';
import { admittedRequest } from '../admitted-request.fixture.ts';
import { countWords } from '../client.fixture.ts';
import { ResponseMeter } from './response-meter.ts';

const counted = (meter: ResponseMeter, chat = admittedRequest().chat, isLeft = false) =>
  meter.usage(chat, countWords, isLeft);
const said = (content: string, index = 0, reason: string | null = null) => ({
  choices: [{ index, delta: { content }, finish_reason: reason }],
});

describe('a finished response', () => {
  test('has a finish reason for each requested choice', () => {
    const meter = new ResponseMeter(admittedRequest({ completions: 2 }));
    expect(meter.allFinished()).toBe(false);
    meter.take(said('a', 0, 'stop'));
    expect(meter.allFinished()).toBe(false);
    meter.take(said('b', 1));
    expect(meter.allFinished()).toBe(false);
    meter.take(said('', 1, 'length'));
    expect(meter.allFinished()).toBe(true);
    expect(meter.facts().finishReason).toBe('length');
  });

  test('has no further choice that is open', () => {
    const meter = new ResponseMeter(admittedRequest());
    meter.take(said('a', 0, 'stop'));
    expect(meter.allFinished()).toBe(true);
    meter.take(said('b', 1));
    expect(meter.allFinished()).toBe(false);
  });

  test('may continue after the end, such as with an empty delta', () => {
    const meter = new ResponseMeter(admittedRequest());
    meter.take(said('a', 0, 'stop'));
    meter.take(said('', 0));
    meter.take({ choices: [null] });
    expect(meter.allFinished()).toBe(true);
  });

  test('treats an empty finish reason as none', () => {
    const meter = new ResponseMeter(admittedRequest());
    meter.take(said('a', 0, ''));
    expect(meter.allFinished()).toBe(false);
  });
});

describe('reasoning without a usage', () => {
  const details = { reasoning_details: [{ type: 'reasoning.text', text: 'one two', signature: 'x' }] };
  test.each([
    ['is counted once when details repeat it in a chunk of their own', [{ reasoning: 'one two' }, details], 2],
    ['is counted from details when nothing else has it', [details], 2],
  ])('%s', async (_, deltas, completionTokens) => {
    const meter = new ResponseMeter(admittedRequest());
    for (const delta of deltas) meter.take({ choices: [{ index: 0, delta }] });
    expect((await counted(meter)).usage).toMatchObject({ completionTokens });
  });

  test('is counted from the details of a choice when another choice repeats them', async () => {
    const meter = new ResponseMeter(admittedRequest({ completions: 2 }));
    meter.take({ choices: [{ index: 0, delta: { reasoning: 'one two ' } }] });
    meter.take({ choices: [{ index: 1, delta: details }] });
    meter.take({ choices: [{ index: 0, delta: details }] });
    expect((await counted(meter)).usage).toMatchObject({ completionTokens: 4 });
  });
});

describe('usages of single choices in a stream', () => {
  const usageOf = (index: number, tokens: number) =>
    asCompletion({
      choices: [{ index, delta: {}, finish_reason: 'stop', usage: { prompt_tokens: 10, completion_tokens: tokens } }],
    }) ?? { choices: [] };
  const meterOf = (completions: number) => {
    const meter = new ResponseMeter(admittedRequest({ completions }));
    for (let index = 0; index < completions; index++) meter.take(said('one two ', index));
    return meter;
  };
  const usageAfter = async (meter: ResponseMeter) => (await counted(meter)).usage;

  test.each([[[0, 1, 2]], [[2, 0, 1]], [[1, 1, 0, 2]]])('are added up in any order: %j', async (order) => {
    const meter = meterOf(3);
    for (const index of order) meter.take(usageOf(index, 100 + index));
    expect(await usageAfter(meter)).toMatchObject({ promptTokens: 10, completionTokens: 303 });
  });

  test('do not cover a choice that reported none', async () => {
    const meter = meterOf(3);
    meter.take(usageOf(0, 1));
    meter.take(usageOf(1, 1));
    expect(await usageAfter(meter)).toMatchObject({ promptTokens: 10, completionTokens: 6 });
  });

  test('give way to a usage of all choices', async () => {
    const meter = meterOf(2);
    meter.take(usageOf(0, 100));
    meter.take({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 150 } });
    expect(await usageAfter(meter)).toMatchObject({ completionTokens: 150 });
  });
});

test("the provider's id is the first that is not empty: some begin with a chunk without one", () => {
  const meter = new ResponseMeter(admittedRequest());
  for (const id of ['', 'first', 'second']) meter.take({ ...said('a'), id });
  expect(meter.facts().upstreamId).toBe('first');
});

describe('what is charged', () => {
  const { chat, ...rest } = admittedRequest();

  test("is the provider's usage, even far above the window against which requests are checked", async () => {
    const usage = { prompt_tokens: 900_000, completion_tokens: 2 };
    const charged = async (longestPrompt: number | undefined) => {
      const model = { ...rest.model, contextWindow: 10_000, ...(longestPrompt === undefined ? {} : { longestPrompt }) };
      const meter = new ResponseMeter({ ...rest, chat, model });
      meter.take({ ...said('a b'), usage });
      return counted(meter, chat);
    };
    expect(await charged(1_000_000)).toMatchObject({ usageCounted: false, usage: { promptTokens: 900_000 } });
    // A provider that is said to read no more cannot have read so much: its counter is broken.
    expect(await charged(undefined)).toMatchObject({ usageCounted: true });
  });

  test('includes images by their estimate if it is counted, and by their ceiling if the client left', async () => {
    const meter = new ResponseMeter({ ...rest, chat });
    meter.take(said('a b'));
    const images = { ...chat, hasMedia: true, inputTokens: { ...chat.inputTokens, estimate: 900, ceiling: 2000 } };
    expect((await counted(meter, images)).usage).toMatchObject({ promptTokens: 900, completionTokens: 2 });
    const dear = { ...images, inputTokens: { ...images.inputTokens, imageCeiling: 1500 } };
    expect((await counted(meter, dear)).usage.promptTokens).toBe(900);
    // The text and the images at their ceiling, for one that left.
    expect((await counted(meter, dear, true)).usage.promptTokens).toBe(1503);
    expect((await counted(meter, { ...images, hasMedia: false })).usage.promptTokens).toBe(3);
  });

  test('is all text, in however many pieces', async () => {
    const meter = new ResponseMeter({ ...rest, chat });
    for (let i = 0; i < 1000; i++) meter.take(said(` w${i}`));
    expect((await counted(meter, chat)).usage.completionTokens).toBe(1000);
  });

  test('is the last plausible usage', async () => {
    const meter = new ResponseMeter({ ...rest, chat });
    const usage = { prompt_tokens: 5, completion_tokens: 2 };
    meter.take({ ...said('a'), usage });
    meter.take({ choices: [], usage: { ...usage, completion_tokens: 3 } });
    meter.take({ choices: [], usage: { ...usage, completion_tokens: -3 } });
    expect(await counted(meter, chat)).toMatchObject({
      usageCounted: false,
      usage: { promptTokens: 5, completionTokens: 3 },
    });
  });
});

test('the tier is the last that the response names', async () => {
  const tierOf = async (...named: readonly unknown[]) => {
    const meter = new ResponseMeter(admittedRequest());
    for (const service_tier of named) meter.take({ ...said('a'), service_tier });
    return (await counted(meter)).serviceTier;
  };
  expect(await tierOf()).toBeUndefined();
  expect(await tierOf(null, '', 1)).toBeUndefined();
  expect(await tierOf('auto', 'flex', undefined)).toBe('flex');
  expect(await tierOf(`\u0000${'x'.repeat(100)}`)).toBe('x'.repeat(63));
});

test('input of a custom tool is output, as arguments of a function are', async () => {
  const meter = new ResponseMeter(admittedRequest());
  const call = { index: 0, id: 'call_1', type: 'custom', custom: { name: 'shell', input: ' list all files' } };
  meter.take({ choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: null }] });
  const { usage } = await counted(meter);
  expect(usage.completionTokens).toBe(4);
});

test('a prompt that is evicted during its count is counted once', async () => {
  const admitted = admittedRequest();
  let omitted = 0;
  const chat = { ...admitted.chat, promptText: () => ['one two three'], tokensOmitted: () => omitted };
  const meter = new ResponseMeter(admitted);
  const evicting: typeof countWords = (texts) => {
    omitted = 3;
    return countWords(texts);
  };
  expect((await meter.usage(chat, evicting, false)).usage.promptTokens).toBe(3);
});

test('of long texts of a provider only the first characters stay in memory', () => {
  const heldBytes = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const MIB = 1024 * 1024;
  const before = heldBytes();
  const facts = Array.from({ length: 30 }, (_, index) => {
    const meter = new ResponseMeter(admittedRequest());
    const long = `${index}${'x'.repeat(MIB)}`;
    const chunk = { id: long, model: long, service_tier: long, choices: [{ index: 0, finish_reason: long }] };
    meter.take(JSON.parse(JSON.stringify(chunk)));
    return [meter.model, meter.facts()];
  });
  expect(heldBytes() - before).toBeLessThan(5 * MIB);
  expect(facts[7]).toEqual([
    `7${'x'.repeat(199)}`,
    { upstreamId: `7${'x'.repeat(199)}`, finishReason: `7${'x'.repeat(63)}` },
  ]);
});
