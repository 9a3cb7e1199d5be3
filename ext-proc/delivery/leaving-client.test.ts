import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { client, deliverTo, deliveryOver } from './client.fixture.ts';
import type { Delivery } from './deliver.ts';
import { chunk, DONE, type Egress, HELLO, ours, STOP, sendStream, startEgress, usageChunk } from './egress.fixture.ts';
import { type OrderOptions, order, provider } from './order.fixture.ts';

let egress: Egress;
let delivery: Delivery;
beforeAll(async () => {
  egress = await startEgress();
  delivery = deliveryOver(egress);
});
afterAll(async () => {
  await delivery.close();
  await egress.close();
});

async function deliverStream(options: OrderOptions = {}, to = client()) {
  const delivered = await deliverTo(delivery, to, order({ stream: true, ...options }));
  return { ...delivered, to, text: to.text() };
}

describe('a client that leaves', () => {
  const open = { includeUsage: true, timeouts: { streamIdleMs: 1000 } };

  test('cancels the provider and pays the prompt and what was seen', async () => {
    egress.answerWith(sendStream(HELLO, () => undefined));
    const to = client();
    const delivering = deliverStream(open, to);
    await expect.poll(() => to.text()).toContain(' there');
    to.leave();
    const { outcome, charges } = await delivering;
    await egress.asked[0]?.cancelled;
    expect(charges).toMatchObject([
      { cancelled: true, usage: { promptTokens: 3, completionTokens: 2 }, usageCounted: true },
    ]);
    expect(outcome).toMatchObject({ status: 200, clientGone: true, attempts: [{ result: 'abandoned' }] });
    expect(outcome.refusal).toBeUndefined();
    expect(to.ended).toBe(false);
  });

  test.each<[string, OrderOptions]>([
    ['where the provider is drained', { providers: [provider('alpha', { onDisconnect: 'drain' })] }],
    ['where the model reasons', { reasoningEfforts: ['low'] }],
  ])('pays the exact usage %s', async (_, options) => {
    const to = client();
    egress.answerWith(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(HELLO[0]);
      await expect.poll(() => to.written.length).toBe(1);
      to.leave();
      for (const piece of [...HELLO, STOP, usageChunk(), DONE]) response.write(piece);
      setTimeout(() => response.end(), 20);
    });
    const { outcome, charges, text } = await deliverStream({ ...open, ...options }, to);
    expect(charges).toMatchObject([
      { cancelled: true, usage: { promptTokens: 7, completionTokens: 5 }, usageCounted: false },
    ]);
    expect(outcome).toMatchObject({ clientGone: true, attempts: [{ result: 'ok' }] });
    expect(text).toBe(ours(HELLO[0] ?? ''));
  });

  test('before the first event is drained where the provider is', async () => {
    const to = client();
    egress.answerWith(async (response, asked) => {
      to.leave();
      await sendStream([...HELLO, STOP, usageChunk(), DONE])(response, asked);
    });
    const { charges } = await deliverStream({ reasoningEfforts: ['low'] }, to);
    expect(charges).toMatchObject([{ cancelled: true, usage: { completionTokens: 5 }, usageCounted: false }]);
    expect(to.heads).toEqual([]);
  });

  test('is not paid for beyond the deadline, but for what came', async () => {
    const to = client();
    egress.answerWith(sendStream(HELLO, () => to.leave()));
    const { charges } = await deliverStream({ reasoningEfforts: ['low'], timeouts: { totalMs: 500 } }, to);
    expect(charges).toMatchObject([{ cancelled: true, usage: { completionTokens: 2 }, usageCounted: true }]);
  });
});

describe('a client that does not read', () => {
  /** Writes until the socket takes no more; resolves with the bytes written. */
  function flood(limitBytes: number, sent: { bytes: number }) {
    return async (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const piece = chunk({ content: 'x'.repeat(16_000) });
      let wake: () => void = () => undefined;
      response.on('drain', () => wake()).on('close', () => wake());
      while (sent.bytes < limitBytes && !response.destroyed) {
        sent.bytes += piece.length;
        const room = new Promise<void>((resolve) => {
          wake = resolve;
        });
        if (!response.write(piece)) await room;
      }
      if (!response.destroyed) response.end(STOP + DONE);
    };
  }

  test('stops the provider, blames it for nothing, and gets all when it reads again', async () => {
    const sent = { bytes: 0 };
    egress.answerWith(flood(20_000_000, sent));
    const to = client();
    to.stopReading();
    const delivering = deliverStream({ responseBodyBytes: 30_000_000, timeouts: { streamIdleMs: 300 } }, to);
    await expect.poll(() => to.written.length).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(to.written).toHaveLength(1);
    expect(sent.bytes).toBeLessThan(3_000_000);
    to.read();
    const { outcome, text } = await delivering;
    expect(outcome).toMatchObject({ clientGone: false, attempts: [{ result: 'ok' }] });
    expect(text.length).toBeGreaterThan(19_000_000);
    expect(text.endsWith(DONE)).toBe(true);
  });

  test('is cut off by the total time-out, and pays what was produced', async () => {
    const sent = { bytes: 0 };
    egress.answerWith(flood(20_000_000, sent));
    const to = client();
    to.stopReading();
    const { outcome, charges } = await deliverStream({ responseBodyBytes: 30_000_000, timeouts: { totalMs: 500 } }, to);
    await egress.asked[0]?.cancelled;
    expect(charges).toHaveLength(1);
    expect(charges[0]?.usage.completionTokens).toBeGreaterThan(0);
    expect(to.aborted).toBe(true);
    expect(outcome).toMatchObject({ clientGone: true, refusal: { code: 'request_timeout' } });
    expect(to.text().length).toBeLessThan(1_000_000);
  }, 10_000);
});
