import { describe, expect, test } from 'vitest';
import { client, openDelivery } from './client.fixture.ts';
import { DONE, HELLO, ours, STOP, sendStream, usageChunk } from './egress.fixture.ts';
import { type OrderOptions, provider } from './order.fixture.ts';

const { egress, deliverStream } = await openDelivery();

describe('a client that leaves', () => {
  const open = { includeUsage: true };

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
});
