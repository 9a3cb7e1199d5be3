import { describe, expect, test } from 'vitest';
import { refuse } from '#core/errors/refusal.ts';
import { type AdmittedRequestOptions, admittedRequest, provider } from './admitted-request.fixture.ts';
import { type Client, client, deliverTo, openDelivery, UNWATCHED } from './client.fixture.ts';
import { COMPLETION, DONE, HELLO, ours, STOP, sendJson, sendStream, usageChunk } from './egress.fixture.ts';

const { egress, delivery, deliver, another } = await openDelivery();

const WHOLE = [...HELLO, STOP, usageChunk(), DONE];

async function deliverKept(options: AdmittedRequestOptions = {}, to = client(), by = delivery) {
  const kept: (string | undefined)[] = [];
  /** Text that the client had received at the time of the charge. */
  let sentBefore = '';
  const keyed = {
    ...admittedRequest({ providers: [provider('alpha', { onDisconnect: 'abort' })], ...options }),
    keepsResponse: true,
  };
  const delivered = await deliverTo(by, to, keyed, async (_, response) => {
    sentBefore = to.text();
    kept.push(response?.toString());
    return undefined;
  });
  return { ...delivered, kept, sentBefore, to };
}

describe('a response that is stored', () => {
  test('is the JSON body that the client gets', async () => {
    egress.respondWith(sendJson(COMPLETION));
    const { kept, to } = await deliverKept();
    expect(kept).toEqual([to.responses[0]?.body.toString()]);
    expect(kept[0]).toContain('"cost":0.25');
  });

  test.each([false, true])('is the stream that the client gets, its end included (usage: %s)', async (includeUsage) => {
    egress.respondWith(sendStream(WHOLE));
    const { kept, sentBefore, to } = await deliverKept({ stream: true, includeUsage });
    expect(kept).toEqual([to.text()]);
    expect(kept[0]?.endsWith(DONE)).toBe(true);
    expect(kept[0]?.includes('"cost":0.25')).toBe(includeUsage);
    // The end comes after the charge, and was charged with it.
    expect(sentBefore.length).toBeLessThan(to.text().length);
  });

  const leaveMidway = async (to: Client) => {
    await expect.poll(() => to.text()).toContain(' there');
    to.leave();
  };
  test.each<[string, (to: Client) => void]>([
    ['before the first event', (to) => to.leave()],
    ['midway', leaveMidway],
  ])('is read to its end when the client leaves %s, whatever on_disconnect says', async (_, leave) => {
    const to = client();
    egress.respondWith((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      void leave(to);
      response.write(HELLO.join(''));
      setTimeout(() => response.end([STOP, usageChunk(), DONE].join('')), 150);
    });
    const { kept, charges, outcome } = await deliverKept({ stream: true, includeUsage: true }, to);
    expect(outcome).toMatchObject({ clientGone: true, attempts: [{ result: 'ok' }] });
    expect(charges).toMatchObject([{ cancelled: true, usage: { promptTokens: 7, completionTokens: 5 } }]);
    expect(kept[0]).toContain(' there');
    expect(kept[0]?.endsWith(DONE)).toBe(true);
  });

  test('is not stored if the stream broke', async () => {
    egress.respondWith(sendStream(HELLO, (response) => response.destroy()));
    const { kept, outcome } = await deliverKept({ stream: true });
    expect(kept).toEqual([undefined]);
    expect(outcome.refusal?.code).toBe('upstream_error');
  });

  test('is not stored without the header', async () => {
    const kept: unknown[] = [];
    for (const stream of [false, true]) {
      egress.respondWith(stream ? sendStream(WHOLE) : sendJson(COMPLETION));
      await deliver({ stream }, client(), async (_, response) => void kept.push(response));
    }
    expect(kept).toEqual([undefined, undefined]);
  });

  test('ends with an error if there is no memory to store it', async () => {
    const small = another({ responseBudgetBytes: 300 });
    egress.respondWith(sendStream(WHOLE));
    const { kept, outcome, to } = await deliverKept({ stream: true }, client(), small);
    expect([kept, outcome.refusal?.code]).toEqual([[undefined], 'upstream_error']);
    expect(to.text().endsWith(DONE)).toBe(true);
  });

  test('releases its memory at the end', async () => {
    const room = Buffer.byteLength(WHOLE.join('')) * 3;
    const small = another({ responseBudgetBytes: room });
    egress.respondWith(sendStream(WHOLE));
    for (let i = 0; i < 3; i++) {
      const { kept, to } = await deliverKept({ stream: true }, client(), small);
      expect(kept).toEqual([to.text()]);
    }
  });

  test('releases the hold before the client learns that the charge failed', async () => {
    egress.respondWith(sendStream(WHOLE));
    const to = client();
    let textAtRelease: string | undefined;
    const charge = async () => refuse('no_capacity');
    const keyed = { ...admittedRequest({ stream: true }), keepsResponse: true };
    await delivery.deliver(keyed, to.exchange, {
      ...UNWATCHED,
      costUsd: () => 0,
      charge,
      uncharged: () => undefined,
      release: async () => {
        textAtRelease = to.text();
      },
    });
    expect(textAtRelease).toBe([...HELLO, STOP].map(ours).join(''));
    expect(to.text()).toContain('"code":"no_capacity"');
  });
});
