import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { provider } from './admitted-request.fixture.ts';
import { client, deliverTo, openDelivery } from './client.fixture.ts';
import { chunk, DONE, event, sendStream } from './egress.fixture.ts';
import { type OtherApi, requestTo, streamOf } from './other-apis.fixture.ts';

/** Usage that a provider says before the end of its stream counts, wherever the stream ends. */
const { egress, delivery } = await openDelivery();

const PROMPT = { promptTokens: 40_008, cachedTokens: 40_000, cacheWriteTokens: 0 };
const usage = { input_tokens: 8, cache_read_input_tokens: 40_000, cache_creation_input_tokens: 0, output_tokens: 1 };
const START = { type: 'message_start', message: { id: 'msg_1', usage: { ...usage, service_tier: 'priority' } } };
const BLOCK = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
const text = (words: string) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: words } });
const STOPPED = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 60 } };
const OVERLOADED = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
const BEGUN = [START, BLOCK, text('one two')];

const CACHED = { prompt_tokens: 40_008, prompt_tokens_details: { cached_tokens: 40_000 } };
const created = (more: object) => ({ type: 'response.created', response: { id: 'resp_1', ...more } });
const words = { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'one two' };
const SAID = { input_tokens: 40_008, input_tokens_details: { cached_tokens: 40_000 }, output_tokens: 60 };

const inChat = (completion_tokens: number) => ({ usage: { ...CACHED, completion_tokens } });
const failedWith = (usage: object) => ({ type: 'response.failed', response: { usage } });

describe.each<[string, api: 'chat' | OtherApi, completionTokens: number, ...pieces: string[]]>([
  ['nothing more after the first text', 'anthropic', 2, streamOf(BEGUN)],
  ['an error after the first text', 'anthropic', 2, streamOf([...BEGUN, OVERLOADED])],
  ['no end after the output was counted', 'anthropic', 60, streamOf([...BEGUN, STOPPED])],
  [
    'text after the output was counted',
    'anthropic',
    3,
    streamOf([START, { ...STOPPED, usage: { output_tokens: 1 } }, BLOCK, text('one two three')]),
  ],
  ['the prompt in the first chunk', 'chat', 2, chunk({ content: 'one two' }, null, inChat(0))],
  [
    'a usage beside the error',
    'chat',
    60,
    ...[chunk({ content: 'one two' }), event({ error: { message: 'No.' }, choices: [], ...inChat(60) })],
  ],
  ['a usage in the beginning', 'responses', 2, streamOf([created({ usage: { ...SAID, output_tokens: 0 } }), words])],
  ['a usage in the failed response', 'responses', 60, streamOf([created({}), words, failedWith(SAID)])],
])('a stream with %s', (_, api, completionTokens, ...pieces) => {
  const asked = (more = {}) =>
    requestTo(api as OtherApi, undefined, { providers: [provider('alpha', { api })], stream: true, ...more });

  test.each<[string, (response: ServerResponse) => unknown]>([
    ['ends', (response) => response.end()],
    ['breaks', (response) => response.destroy()],
  ])('with %s: charges the reported prompt and the output so far', async (_end, after) => {
    egress.respondWith(sendStream(pieces, after));
    const { charges } = await deliverTo(delivery, client(), asked());
    expect(charges).toMatchObject([{ finishReason: 'error', usage: { ...PROMPT, completionTokens } }]);
  });

  test('charges the reported prompt if the client leaves', async () => {
    const to = client();
    egress.respondWith(sendStream(pieces, () => undefined));
    const delivering = deliverTo(delivery, to, asked());
    await expect.poll(() => to.written.length).toBeGreaterThan(0);
    to.leave();
    const [charge] = (await delivering).charges;
    // A usage beside an error comes later than the text.
    if (pieces.length === 1) expect(charge?.usage).toMatchObject(PROMPT);
    expect(charge?.usage.completionTokens).toBeGreaterThanOrEqual(2);
  });
});

test('a client that leaves between the start of a message and its first text pays the reported prompt', async () => {
  let turns = 0;
  const leave = async () => {
    const to = client();
    egress.respondWith(sendStream([streamOf([START, BLOCK])], () => undefined));
    const delivering = deliverTo(delivery, to, requestTo('anthropic', undefined, { stream: true }));
    await expect.poll(() => egress.asked.length).toBe(1);
    // Sooner or later the beginning has been read by then.
    for (let turn = 0; turn < turns; turn++) await setImmediate();
    turns += 100;
    to.leave();
    return (await delivering).charges;
  };
  const usage = { ...PROMPT, completionTokens: 0 };
  await expect
    .poll(leave, { timeout: 20_000 })
    .toMatchObject([{ cancelled: true, usageCounted: false, serviceTier: 'priority', usage }]);
});

test('the hold can read the reported usage as soon as the stream begins', async () => {
  egress.respondWith(sendStream([streamOf(BEGUN)]));
  const told: unknown[] = [];
  const to = client();
  await delivery.deliver(requestTo('anthropic', undefined, { stream: true }), to.exchange, {
    ...{ asked: () => undefined, outputEnded: () => undefined, costUsd: () => 0, uncharged: () => undefined },
    delivers: (output) => void setTimeout(() => told.push(output())),
    charge: async () => undefined,
    release: async () => undefined,
  });
  await expect.poll(() => told).toMatchObject([{ usage: { ...PROMPT, completionTokens: 0 }, serviceTier: 'priority' }]);
  expect(to.text().endsWith(DONE)).toBe(true);
});
