import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { NO_USAGE } from '#core/pricing.ts';
import { type AdmittedRequestOptions, admittedRequest, provider } from '../admitted-request.fixture.ts';
import { client, countWords, deliverTo, openDelivery } from '../client.fixture.ts';
import {
  chunk,
  DONE,
  envoyReply,
  HELLO,
  ours,
  type ProviderHandler,
  STOP,
  sendStream,
  usageChunk,
} from '../egress.fixture.ts';
import type { AdmittedRequest } from '../provider/admitted-request.ts';

const { egress, delivery, deliverStream, another } = await openDelivery();
const silent: ProviderHandler = () => undefined;

describe('a client that leaves', () => {
  const open = { includeUsage: true };

  test('cancels the provider, and pays for the prompt and the delivered output', async () => {
    egress.respondWith(sendStream(HELLO, () => undefined));
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

  test.each<[string, AdmittedRequestOptions]>([
    ['where the provider is drained', { providers: [provider('alpha', { onDisconnect: 'drain' })] }],
    ['where the model reasons', { reasoningEfforts: ['low'] }],
  ])('pays the exact usage %s', async (_, options) => {
    const to = client();
    const seen = HELLO.slice(0, 2);
    egress.respondWith(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(seen.join(''));
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
    expect(text).toBe(seen.map(ours).join(''));
  });

  test('before the first event pays the exact usage if the model reasons', async () => {
    const to = client();
    egress.respondWith(async (response, asked) => {
      to.leave();
      await sendStream([...HELLO, STOP, usageChunk(), DONE])(response, asked);
    });
    const { charges } = await deliverStream({ reasoningEfforts: ['low'] }, to);
    expect(charges).toMatchObject([{ cancelled: true, usage: { completionTokens: 5 }, usageCounted: false }]);
    expect(to.heads).toEqual([]);
  });
});

describe('a client that leaves before the first event', () => {
  /** Asks for a stream, and leaves when the provider has all of the request. */
  async function leave(what: AdmittedRequest, handler = silent, by = delivery) {
    const to = client();
    egress.respondWith(handler);
    const delivering = deliverTo(by, to, what);
    await expect.poll(() => egress.asked.length).toBe(1);
    to.leave();
    const delivered = await delivering;
    await egress.asked[0]?.cancelled;
    expect(delivered.outcome).toMatchObject({ status: 499, clientGone: true, attempts: [{ result: 'abandoned' }] });
    expect(to.responses).toEqual([]);
    return delivered;
  }
  const stream = (options: AdmittedRequestOptions = {}) => admittedRequest({ stream: true, ...options });
  const prompt = { ...NO_USAGE, promptTokens: 3 };

  test.each([
    ['before any answer', silent],
    ['after a head only', sendStream([': hi\n\n'], () => undefined)],
  ])('cancels the provider and pays for the prompt: %s', async (_, handler) => {
    const { charges, uncharged } = await leave(stream(), handler);
    expect(charges).toEqual([
      {
        ...{ provider: 'alpha', providerModel: 'alpha-model', usage: prompt, usageCounted: true, cancelled: true },
        ...{ firstEventMs: expect.any(Number), generationTimeMs: 0 },
      },
    ]);
    expect(uncharged).toEqual([]);
  });

  test('pays nothing if the provider bills nothing then, and the attempt is recorded as uncharged', async () => {
    const providers = [provider('alpha', { billPromptOnDisconnect: false })];
    const { charges, uncharged } = await leave(stream({ providers }));
    expect(charges).toEqual([]);
    await expect
      .poll(() => uncharged)
      .toMatchObject([{ result: 'abandoned', work: 'some', tokens: { usage: prompt } }]);
  });

  test('keeps its hold until the prompt is counted', async () => {
    const counting = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const slow = another({
      countTokens: (texts) => {
        counting.resolve();
        return gate.promise.then(() => countWords(texts));
      },
    });
    let isOver = false;
    const leaving = leave(stream(), silent, slow).then((delivered) => {
      isOver = true;
      return delivered;
    });
    await counting.promise;
    expect(isOver).toBe(false);
    gate.resolve();
    expect((await leaving).charges).toHaveLength(1);
  });

  test('pays nothing while Envoy cannot reach the provider, and pays for the prompt again once it can', async () => {
    const providers = [provider('alpha')];
    const options = { providers, retriesPerTarget: 0 };
    egress.respondWith(envoyReply('UF,URX'));
    await deliverTo(delivery, client(), stream(options));
    expect((await leave(stream(options))).charges).toEqual([]);
    egress.respondWith(sendStream([...HELLO, STOP, DONE]));
    await deliverTo(delivery, client(), stream(options));
    expect((await leave(stream(options))).charges).toHaveLength(1);
  });

  test('pays nothing before the whole request is sent', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gw-unread-'));
    const socketPath = join(folder, 's');
    // The server reads nothing, as an Envoy with full buffers.
    const server = createServer({ pauseOnConnect: true }, (socket) => void socket.on('error', () => undefined));
    server.listen(socketPath);
    await once(server, 'listening');
    const blocked = another({ egressSocketPath: socketPath });
    const what = stream();
    const to = client();
    const chat = { ...what.chat, encodeFor: () => [Buffer.alloc(8 * 1024 * 1024)] };
    const delivering = deliverTo(blocked, to, { ...what, chat });
    await once(server, 'connection');
    to.leave();
    const { outcome, charges, uncharged } = await delivering;
    expect(outcome).toMatchObject({ status: 499 });
    expect(charges).toEqual([]);
    expect(uncharged).toMatchObject([{ result: 'abandoned', work: 'none' }]);
    await blocked.close();
    server.close();
    await rm(folder, { recursive: true });
  });
});

/** Only the provider's usage says what images cost: leaving before it comes must not pay less. */
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
