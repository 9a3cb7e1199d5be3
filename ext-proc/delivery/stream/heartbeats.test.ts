import { describe, expect, test } from 'vitest';
import { type AdmittedRequestOptions, admittedRequest, provider } from '../admitted-request.fixture.ts';
import { type Client, client, deliverTo, openDelivery } from '../client.fixture.ts';
import {
  chunk,
  DONE,
  HELLO,
  ours,
  type ProviderHandler,
  STOP,
  sendJson,
  sendStream,
  usageChunk,
} from '../egress.fixture.ts';

const { egress, delivery } = await openDelivery();

const BEAT = ': heartbeat\n\n';
const WHOLE = [...HELLO, STOP, usageChunk(), DONE];
const two = { providers: [provider('alpha'), provider('beta')], retriesPerTarget: 0 };
const silent: ProviderHandler = () => undefined;

/** A stream request whose client gets heartbeats soon. */
function soon(options: AdmittedRequestOptions = {}) {
  return admittedRequest({ stream: true, ...options, timeouts: { heartbeatMs: 20, ...options.timeouts } });
}

/** Answers once the client has had a heartbeat. */
function onceBeaten(to: Client, handler: ProviderHandler): ProviderHandler {
  return async (response, asked) => {
    const seen = to.written.length;
    await expect.poll(() => to.written.slice(seen)).toContain(BEAT);
    await handler(response, asked);
  };
}

/** The events that came, without heartbeats. */
const eventsOf = (to: Client) => to.written.filter((piece) => piece !== BEAT).join('');

describe('after a heartbeat', () => {
  test('the next target still serves', async () => {
    const to = client();
    egress.respondWith(onceBeaten(to, sendJson({}, 500)), onceBeaten(to, sendStream(WHOLE)));
    const { outcome, charges } = await deliverTo(delivery, to, soon(two));
    expect(outcome).toMatchObject({ status: 200, attempts: [{ result: 'status_500' }, { result: 'ok' }] });
    expect(to.written[0]).toBe(BEAT);
    expect(eventsOf(to)).toBe([...HELLO, STOP].map(ours).join('') + DONE);
    expect(to.heads).toHaveLength(1);
    expect(charges).toMatchObject([{ usage: { completionTokens: 5 } }]);
    expect(to.ended).toBe(true);
  });

  test.each<[string, ProviderHandler, string, string]>([
    ['a failed provider', sendJson({}, 500), 'upstream_error', 'The model provider failed.'],
    ['a busy one', sendJson({}, 429), 'no_capacity', 'No capacity at the moment.'],
    ['a rejected request', sendJson({ error: { message: 'top_p is odd' } }, 400), 'invalid_request', 'top_p is odd'],
  ])(
    '%s is reported by the final event, after the hold is released, and nothing is charged',
    async (_, handler, code, message) => {
      const to = client();
      egress.respondWith(onceBeaten(to, handler));
      const { outcome, charges, responsesAtRelease } = await deliverTo(delivery, to, soon({ retriesPerTarget: 0 }));
      const [failure, done, ...more] = eventsOf(to).split('\n\n');
      expect(JSON.parse(failure?.slice(6) ?? '')).toMatchObject({
        error: { code, message: expect.stringContaining(message) },
        id: 'gen-TEST',
        choices: [{ delta: { role: 'error', content: '' }, finish_reason: 'error' }],
      });
      expect([done, more]).toEqual(['data: [DONE]', ['']]);
      expect([to.ended, to.responses, charges, responsesAtRelease]).toEqual([true, [], [], [0]]);
      expect(outcome).toMatchObject({ status: 200, refusal: { code }, clientGone: false });
    },
  );

  test('a client that leaves pays for the prompt, as before any response', async () => {
    const to = client();
    egress.respondWith(silent);
    const delivering = deliverTo(delivery, to, soon());
    await expect.poll(() => egress.asked.length > 0 && to.text()).toContain(BEAT);
    to.leave();
    const { outcome, charges } = await delivering;
    await egress.asked[0]?.cancelled;
    expect(charges).toMatchObject([{ cancelled: true, usage: { promptTokens: 3, completionTokens: 0 } }]);
    expect(outcome).toMatchObject({ status: 200, clientGone: true, attempts: [{ result: 'abandoned' }] });
    expect(to.ended).toBe(false);
  });

  test('the end of the process is reported by the final event', async () => {
    const to = client();
    const ends = new AbortController();
    egress.respondWith(silent);
    const delivering = deliverTo(delivery, to, soon({ mustEnd: ends.signal }));
    await expect.poll(() => to.text()).toContain(BEAT);
    ends.abort();
    const { charges } = await delivering;
    expect(eventsOf(to)).toContain('"code":"no_capacity"');
    expect([to.text().endsWith(DONE), to.ended, charges]).toEqual([true, true, []]);
  });

  test('a bug of ours is reported by the final event', async () => {
    const to = client();
    const what = soon(two);
    const { encodeFor } = what.chat;
    const chat = {
      ...what.chat,
      encodeFor: (...fields: Parameters<typeof encodeFor>) => {
        if (egress.asked.length > 0) throw new Error('a bug');
        return encodeFor(...fields);
      },
    };
    egress.respondWith(onceBeaten(to, sendJson({}, 500)));
    await expect(deliverTo(delivery, to, { ...what, chat })).rejects.toThrow('a bug');
    expect(eventsOf(to)).toContain('"code":"internal_error"');
    expect(to.text().endsWith(DONE)).toBe(true);
  });
});

describe('heartbeats', () => {
  const silences: ProviderHandler = async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of WHOLE) {
      const seen = to.written.length;
      await expect.poll(() => to.written.slice(seen)).toContain(BEAT);
      // Comments of the provider are no events.
      response.write(`: ping\n\n${piece}`);
    }
    response.end();
  };
  let to: Client;

  test('do not change events, and are not in the stored response', async () => {
    to = client();
    egress.respondWith(silences);
    const stored: (Buffer | undefined)[] = [];
    const what = { ...soon({ includeUsage: true }), keepsResponse: true };
    await deliverTo(delivery, to, what, async (_, response) => {
      stored.push(response);
      return undefined;
    });
    expect(to.written.filter((piece) => piece === BEAT).length).toBeGreaterThanOrEqual(WHOLE.length);
    expect(to.written.every((piece) => piece === BEAT || !piece.includes(':heartbeat'))).toBe(true);
    expect(stored.map(String)).toEqual([eventsOf(to)]);
    expect(eventsOf(to)).toContain(ours(chunk({ content: 'Hello' })));
  });

  test('are not sent to a client that has left, while its stream is read on', async () => {
    to = client();
    egress.respondWith(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(HELLO[0]);
      await expect.poll(() => to.text()).toContain(BEAT);
      to.leave();
      const seen = to.written.length;
      for (const piece of WHOLE.slice(1)) response.write(piece);
      response.end();
      expect(to.written).toHaveLength(seen);
    });
    const { charges } = await deliverTo(delivery, to, soon({ reasoningEfforts: ['low'] }));
    expect(charges).toMatchObject([{ cancelled: true, usage: { completionTokens: 5 } }]);
  });
});
