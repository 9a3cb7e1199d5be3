import { describe, expect, test, vi } from 'vitest';
import { provider } from '../admitted-request.fixture.ts';
import { client, openDelivery } from '../client.fixture.ts';
import { chunk, DONE, HELLO, type ProviderHandler, STOP, sendStream, usageChunk } from '../egress.fixture.ts';

/** Only the provider's usage says what images cost: leaving before it comes must not pay less. */
const { egress, deliverStream } = await openDelivery();
const CEILING = 68_000;
const USAGE = { prompt_tokens: 60_000, completion_tokens: 3, total_tokens: 60_003 };
const images = { imageCeiling: CEILING, providers: [provider('alpha', { onDisconnect: 'abort' })] };
/** By the ceiling, with the three words of the prompt. */
const AT_MOST = { promptTokens: CEILING + 3 };

/**
 * The client leaves when it has seen `seen`; the provider goes on with `rest` then, and does what
 * `after` does.
 */
async function leaveAt(seen: readonly string[], rest: readonly string[], after?: Parameters<typeof sendStream>[1]) {
  const to = client();
  egress.respondWith(async (response, asked) => {
    if (seen.length > 0) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const piece of seen) response.write(piece);
      await expect.poll(() => to.written.length).toBeGreaterThan(0);
      to.leave();
      for (const piece of rest) response.write(piece);
      if (after) after(response);
      else response.end();
      return;
    }
    to.leave();
    await sendStream(rest, after)(response, asked);
  });
  return { ...(await deliverStream(images, to)), to };
}

describe('a client that leaves a request with images', () => {
  test('pays by the reported usage, although without images the provider would be cancelled', async () => {
    for (const seen of [[], HELLO, [...HELLO, STOP]]) {
      const { charges, outcome } = await leaveAt(seen, [chunk({ content: ' again' }), STOP, usageChunk(USAGE), DONE]);
      expect(charges).toMatchObject([{ cancelled: true, usageCounted: false, usage: { promptTokens: 60_000 } }]);
      expect(outcome).toMatchObject({ clientGone: true, attempts: [{ result: 'ok' }] });
    }
  });

  test('pays the estimate, like a client that stays, if the provider ends without a usage or breaks off', async () => {
    const estimate = [{ usageCounted: true, usage: { promptTokens: 3 } }];
    expect((await leaveAt(HELLO, [STOP, DONE])).charges).toMatchObject(estimate);
    expect((await leaveAt(HELLO, [STOP], (response) => response.destroy())).charges).toMatchObject(estimate);
    egress.respondWith(sendStream([...HELLO, STOP, DONE]));
    expect((await deliverStream(images)).charges).toMatchObject(estimate);
  });

  test.each([
    ['in a stream', HELLO],
    ['before its first event', []],
  ])('waits for a silent provider for ten seconds, %s', async (_, seen) => {
    const silent = vi.fn();
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
    try {
      const leaving = leaveAt(seen, [], silent);
      // The provider says nothing after this.
      await vi.waitFor(() => expect(silent).toHaveBeenCalled(), { timeout: 20_000 });
      await vi.advanceTimersByTimeAsync(11_000);
      const { charges, outcome } = await leaving;
      await egress.asked[0]?.cancelled;
      expect(charges).toMatchObject([{ cancelled: true, usageCounted: true, usage: AT_MOST }]);
      expect(outcome).toMatchObject({ clientGone: true, attempts: [{ result: 'abandoned' }] });
    } finally {
      vi.useRealTimers();
    }
  });

  test('pays nothing and is not retried if the provider fails then', async () => {
    const to = client();
    const fails: ProviderHandler = (response) => {
      to.leave();
      response.writeHead(500).end('{}');
    };
    egress.respondWith(fails);
    const { charges } = await deliverStream({ ...images, retriesPerTarget: 3 }, to);
    expect(charges).toEqual([]);
    expect(egress.asked).toHaveLength(1);
  });

  test('pays nothing before the first event if the provider bills nothing then', async () => {
    const to = client();
    egress.respondWith(() => to.leave());
    const providers = [provider('alpha', { billPromptOnDisconnect: false })];
    const { charges } = await deliverStream({ ...images, providers }, to);
    expect(charges).toEqual([]);
  });
});
