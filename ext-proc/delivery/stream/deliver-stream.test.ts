import { describe, expect, test } from 'vitest';
import { refuse } from '#core/errors/refusal.ts';
import { admittedRequest } from '../admitted-request.fixture.ts';
import { client, deliverTo, openDelivery } from '../client.fixture.ts';
import { chunk, DONE, event, HELLO, ours, STOP, sendStream, USAGE, usageChunk } from '../egress.fixture.ts';

const { egress, deliverStream, another } = await openDelivery();

const COST = { ...USAGE, cost: 0.25 };

describe('a stream', () => {
  test('is passed on with our id and model, charged, and ended', async () => {
    egress.respondWith(sendStream([...HELLO, STOP, usageChunk(), DONE]));
    const { outcome, charges, to, text } = await deliverStream();
    expect(text).toBe([...HELLO, STOP].map(ours).join('') + DONE);
    expect(to).toMatchObject({ ended: true, aborted: false });
    const headers = { 'x-generation-id': 'gen-TEST', 'x-ratelimit-limit-requests': '5' };
    expect(to.heads).toEqual([{ status: 200, headers: { 'content-type': 'text/event-stream', ...headers } }]);
    expect(charges).toMatchObject([
      {
        ...{ provider: 'alpha', providerModel: 'alpha-model', upstreamId: 'chatcmpl-1', finishReason: 'stop' },
        ...{ usage: { promptTokens: 7, completionTokens: 5 }, usageCounted: false, cancelled: false },
      },
    ]);
    expect(outcome).toMatchObject({ status: 200, attempts: [{ provider: 'alpha', result: 'ok' }], clientGone: false });
    expect(outcome.refusal).toBeUndefined();
  });

  test('ends with the usage and its cost if the client requested it', async () => {
    egress.respondWith(sendStream([...HELLO, STOP, usageChunk(), DONE]));
    const { text } = await deliverStream({ includeUsage: true });
    expect(text.endsWith(ours(STOP) + ours(usageChunk(COST)) + DONE)).toBe(true);
  });

  test('is passed on at once: all events of a read in one piece', async () => {
    let sendMore: () => void = () => undefined;
    egress.respondWith((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(HELLO.join('') + DONE.slice(0, 3));
      sendMore = () => response.end(`${DONE.slice(3)}`);
    });
    const to = client();
    const delivering = deliverStream({}, to);
    await expect.poll(() => to.written.length).toBe(1);
    expect(to.text()).toContain(' there');
    sendMore();
    await delivering;
    expect(to.text().endsWith(DONE)).toBe(true);
  });

  test('is read in pieces cut anywhere, CRLF and comments included', async () => {
    const all = `\ufeff: hello\r\n\r\n${[...HELLO, STOP, usageChunk(), DONE].join('').replaceAll('\n', '\r\n')}`;
    egress.respondWith(sendStream(all.match(/[\s\S]{1,97}/g) ?? []));
    const { text, charges } = await deliverStream();
    expect(text.match(/"content":"[^"]*"/g)?.join()).toBe('"content":"","content":"Hello","content":" there"');
    expect(text).not.toContain('hello');
    expect(text.endsWith(DONE)).toBe(true);
    expect(charges).toHaveLength(1);
  });

  test('is passed on without pings and events without data', async () => {
    const nothing = ['data:\n\n', 'data: \n\n', event({ type: 'ping' })];
    egress.respondWith(sendStream([...nothing, ...HELLO, ...nothing, STOP, ...nothing, DONE]));
    const { outcome, text } = await deliverStream();
    expect(text).toBe([...HELLO, STOP].map(ours).join('') + DONE);
    expect(outcome.attempts).toMatchObject([{ provider: 'alpha', result: 'ok' }]);
  });

  test('ends only after the charge', async () => {
    egress.respondWith(sendStream([...HELLO, STOP, DONE]));
    const to = client();
    let textAtCharge = '';
    await deliverStream({}, to, async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      textAtCharge = to.text();
      return undefined;
    });
    expect(textAtCharge).toContain('"stop"');
    expect(textAtCharge).not.toContain('[DONE]');
    expect(to.text().endsWith(DONE)).toBe(true);
  });

  test('ends with an error when the charge is refused, and without a cost', async () => {
    egress.respondWith(sendStream([...HELLO, STOP, usageChunk(), DONE]));
    const { outcome, text } = await deliverStream({ includeUsage: true }, client(), async () => refuse('no_capacity'));
    expect(outcome).toMatchObject({ status: 200, refusal: { code: 'no_capacity' } });
    expect(text).toContain('data: {"error":{"message":"No capacity at the moment."');
    expect(text).not.toContain('usage');
    expect(text.endsWith(DONE)).toBe(true);
  });

  test('ends with an error when the charge is impossible, which is a bug', async () => {
    egress.respondWith(sendStream([...HELLO, STOP, DONE]));
    const to = client();
    const impossible = async () => {
      throw new Error('a constraint was violated');
    };
    await expect(deliverStream({}, to, impossible)).rejects.toThrow('constraint');
    expect(to.text()).toContain('"code":"internal_error"');
    expect(to.text().endsWith(DONE)).toBe(true);
    expect(to.ended).toBe(true);
  });

  test('may have an id that no database accepts', async () => {
    const odd = event({
      id: `a\u0000${'x'.repeat(197)}\ud83d\ude00`,
      choices: [{ delta: { content: 'a' }, finish_reason: 'st\u0000op' }],
    });
    egress.respondWith(sendStream([odd, DONE]));
    const { charges } = await deliverStream();
    expect(charges).toMatchObject([{ upstreamId: `a${'x'.repeat(197)}\ufffd`, finishReason: 'stop' }]);
  });

  test('leaves its connection reusable', async () => {
    egress.respondWith(
      sendStream([...HELLO, STOP, DONE], (response) => {
        response.write(`: ${'x'.repeat(300_000)}\n\n`);
        setTimeout(() => response.end(), 30);
      }),
    );
    const one = another();
    const opensConnection = async () => {
      const before = egress.connections();
      await deliverTo(one, client(), admittedRequest({ stream: true }));
      return egress.connections() > before;
    };
    expect(await opensConnection()).toBe(true);
    await expect.poll(opensConnection).toBe(false);
  });
});

describe('the usage of a stream', () => {
  test('is always requested, and hidden from a client that did not request it', async () => {
    const none = { usage: null };
    egress.respondWith(sendStream([chunk({ content: 'a' }, null, none), chunk({}, 'stop', none), usageChunk(), DONE]));
    expect((await deliverStream()).text).not.toContain('usage');
  });

  test('stays null on the other chunks for a client that requested it', async () => {
    egress.respondWith(sendStream([chunk({ content: 'a' }, 'stop', { usage: null }), usageChunk(), DONE]));
    expect((await deliverStream({ includeUsage: true })).text.match(/"usage":null/g)).toHaveLength(1);
  });

  const last = chunk({ content: ' b' }, 'stop', { usage: USAGE });
  test.each([
    ['on the last content chunk', [chunk({ content: 'a' }), last, DONE]],
    ['on every chunk', [chunk({ content: 'a' }, null, { usage: { ...USAGE, completion_tokens: 1 } }), last, DONE]],
    [
      'on a chunk without choices',
      [chunk({ content: 'a' }), chunk({ content: ' b' }, 'stop'), event({ usage: USAGE }), DONE],
    ],
  ])('is moved to the end if the provider sent it %s', async (_, pieces) => {
    for (const includeUsage of [false, true]) {
      egress.respondWith(sendStream(pieces));
      const { text, charges } = await deliverStream({ includeUsage });
      const events = text
        .split('\n\n')
        .slice(0, -2)
        .map((one) => JSON.parse(one.slice(6)));
      expect(events.map(({ usage }) => usage)).toEqual(
        includeUsage ? [undefined, undefined, COST] : [undefined, undefined],
      );
      if (includeUsage) expect(events[2]).toMatchObject({ id: 'gen-TEST', model: 'public-model', choices: [] });
      expect(charges).toMatchObject([{ usage: { completionTokens: 5 }, usageCounted: false }]);
    }
  });

  test('is removed if it is invalid: the client gets only the charged usage, once', async () => {
    const nonsense = [0, 'none', [USAGE]].map((usage) => chunk({ content: 'a' }, null, { usage }));
    const role = chunk({ role: 'assistant' });
    egress.respondWith(sendStream([role, ...nonsense, STOP, usageChunk(), DONE]));
    const { text } = await deliverStream({ includeUsage: true });
    const content = ours(chunk({ content: 'a' }));
    expect(text).toBe(ours(role) + content.repeat(3) + ours(STOP) + ours(usageChunk(COST)) + DONE);
  });

  test('is counted if the provider sends none', async () => {
    egress.respondWith(sendStream([...HELLO, STOP, DONE]));
    const { text, charges } = await deliverStream({ includeUsage: true });
    expect(charges).toMatchObject([{ usage: { promptTokens: 3, completionTokens: 2 }, usageCounted: true }]);
    expect(JSON.parse(text.split('\n\n').at(-3)?.slice(6) ?? '')).toEqual({
      ...{ id: 'gen-TEST', object: 'chat.completion.chunk', created: 1_732_156_800, model: 'public-model' },
      ...{ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, cost: 0.25 } },
    });
  });

  test('is counted if it is impossible, or reports no tokens for an output', async () => {
    for (const usage of [
      { prompt_tokens: 7, completion_tokens: 1e9, prompt_tokens_details: { cached_tokens: 7 } },
      { prompt_tokens: 0, completion_tokens: 0 },
      { prompt_tokens: 7, completion_tokens: 0 },
    ]) {
      egress.respondWith(sendStream([...HELLO, STOP, usageChunk(usage), DONE]));
      const { charges, text } = await deliverStream({ includeUsage: true });
      expect(charges).toMatchObject([{ usage: { completionTokens: 2 }, usageCounted: true }]);
      expect(text).not.toContain('_details');
    }
  });

  test('does not cover later output, which is counted', async () => {
    const early = chunk({ content: '' }, null, { usage: { prompt_tokens: 9, completion_tokens: 1 } });
    egress.respondWith(sendStream([early, chunk({ content: 'a b c d' }), STOP, DONE]));
    expect((await deliverStream()).charges).toMatchObject([{ usage: { promptTokens: 9, completionTokens: 4 } }]);
  });
});
