import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { clusterOf } from '../../envoy-config/provider-cluster.ts';
import { type AdmittedRequestOptions, admittedRequest, provider } from '../admitted-request.fixture.ts';
import { type Client, client, type Delivered, deliverTo, deliveryOver } from '../client.fixture.ts';
import {
  chunk,
  DONE,
  type Egress,
  HELLO,
  ours,
  type ProviderHandler,
  STOP,
  sendStream,
  startEgress,
} from '../egress.fixture.ts';

/**
 * Requests that are cut off in time, and others that are not. A process that stands still on a busy
 * machine is over a short limit before the test has done its part; with this one it may stand still
 * for three seconds. The tests wait for it side by side, each with an egress of its own.
 */
const LIMIT_MS = 4_000;

interface Scene {
  readonly egress: Egress;
  readonly to: Client;
  deliver(options: AdmittedRequestOptions, charge?: () => Promise<undefined>): Promise<Delivered>;
}

async function withProvider(handlers: readonly ProviderHandler[], act: (scene: Scene) => Promise<void>): Promise<void> {
  const egress = await startEgress();
  const delivery = deliveryOver(egress);
  const to = client();
  egress.respondWith(...handlers);
  try {
    await act({ egress, to, deliver: (options, charge) => deliverTo(delivery, to, admittedRequest(options), charge) });
  } finally {
    await delivery.close();
    await egress.close();
  }
}

const silent: ProviderHandler = () => undefined;
const stalls = () => undefined;
const TIMED_OUT =
  'data: {"error":{"message":"The model did not answer in time.","type":"timeout_error","code":"request_timeout","metadata":{}},"id":"gen-TEST","object":"chat.completion.chunk","created":1732156800,"model":"public-model","choices":[{"index":0,"delta":{"role":"error","content":""},"finish_reason":"error"}]}\n\n';

describe.concurrent('in time', () => {
  describe('the first event', () => {
    const stream = sendStream([chunk({ content: 'hi' }, 'stop'), DONE]);
    test.for<[string, number | string, ProviderHandler[]]>([
      [
        'that does not come in time is requested from the next target, because the first bills its work',
        200,
        [silent, stream],
      ],
      ['that does not follow its head in time is treated the same', 200, [sendStream([': hi\n\n'], stalls), stream]],
      ['that never comes is a time-out', 'request_timeout', [silent]],
    ])('%s', async ([, expected, handlers], { expect }) => {
      await withProvider(handlers, async ({ egress, to, deliver }) => {
        const providers = ['alpha', 'beta'].slice(0, handlers.length).map((name) => provider(name));
        const { outcome } = await deliver({ stream: true, providers, timeouts: { firstByteMs: LIMIT_MS } });
        expect(outcome.refusal?.code ?? outcome.status).toBe(expected);
        const clusters = egress.asked.map(({ headers }) => headers['x-gw-cluster']);
        expect(clusters).toEqual(providers.map(clusterOf));
        expect([to.heads.length, to.responses.length]).toEqual(expected === 200 ? [1, 0] : [0, 1]);
      });
    });
  });

  describe('a stream', () => {
    test.for<[string, NonNullable<AdmittedRequestOptions['timeouts']>, string]>([
      ['a stall', { streamIdleMs: LIMIT_MS }, 'stall'],
      ['the total time-out', { totalMs: LIMIT_MS }, 'total_timeout'],
    ])('that fails midway by %s is ended and charged', async ([, timeouts, result], { expect }) => {
      await withProvider([sendStream(HELLO, stalls)], async ({ egress, to, deliver }) => {
        const { outcome, charges } = await deliver({ stream: true, timeouts });
        expect(to.text()).toBe(HELLO.map(ours).join('') + TIMED_OUT + DONE);
        expect(to.ended).toBe(true);
        const usage = { promptTokens: 3, completionTokens: 2 };
        expect(charges).toMatchObject([{ usage, usageCounted: true, cancelled: false, finishReason: 'error' }]);
        expect(outcome).toMatchObject({ status: 200, attempts: [{ result }], refusal: { code: 'request_timeout' } });
        await egress.asked[0]?.cancelled;
      });
    });

    test('that stalls after all finish reasons has not failed', async ({ expect }) => {
      await withProvider([sendStream([...HELLO, STOP], stalls)], async ({ to, deliver }) => {
        const { outcome } = await deliver({ stream: true, timeouts: { streamIdleMs: LIMIT_MS } });
        expect(to.text()).toBe([...HELLO, STOP].map(ours).join('') + DONE);
        expect(outcome.refusal).toBeUndefined();
      });
    });

    test('that only named its role and stalls is followed by the next target', async ({ expect }) => {
      await withProvider([sendStream(HELLO.slice(0, 1), stalls), sendStream(HELLO)], async ({ deliver }) => {
        const providers = [provider('alpha'), provider('beta')];
        const { outcome, charges } = await deliver({ stream: true, providers, timeouts: { streamIdleMs: LIMIT_MS } });
        expect(outcome.attempts).toMatchObject([{ result: 'stall' }, { provider: 'beta' }]);
        expect(charges).toMatchObject([{ provider: 'beta', usage: { completionTokens: 2 } }]);
      });
    });

    test('may take longer than the limits for its first event and for silence', async ({ expect }) => {
      const paceMs = LIMIT_MS / 6;
      // The time to the first event ends with the first chunk, which only names the role.
      const pieces = Array.from({ length: 7 }, () => HELLO[0] ?? '').concat(HELLO, STOP, DONE);
      const slow: ProviderHandler = async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const piece of pieces) {
          response.write(piece);
          await sleep(paceMs);
        }
        response.end();
      };
      await withProvider([slow], async ({ deliver }) => {
        const timeouts = { firstByteMs: LIMIT_MS, streamIdleMs: LIMIT_MS };
        const { outcome } = await deliver({ stream: true, timeouts });
        // The first piece comes at once, the others at their pace: the figures of the attempt are
        // around that.
        const [{ durationMs = 0, firstEventAfterCallMs = Number.NaN, ...attempt } = {}, ...others] = outcome.attempts;
        expect([attempt, others]).toEqual([{ provider: 'alpha', result: 'ok' }, []]);
        expect(firstEventAfterCallMs).toBeGreaterThanOrEqual(0);
        expect(durationMs).toBeGreaterThan(LIMIT_MS);
      });
    });

    test('whose client left is cut at the deadline, and charged for the output so far', async ({ expect }) => {
      const to: { leave?: () => void } = {};
      await withProvider([sendStream(HELLO, () => to.leave?.())], async (scene) => {
        to.leave = scene.to.leave;
        const { charges } = await scene.deliver({
          stream: true,
          reasoningEfforts: ['low'],
          timeouts: { totalMs: LIMIT_MS },
        });
        expect(charges).toMatchObject([{ cancelled: true, usage: { completionTokens: 2 }, usageCounted: true }]);
      });
    });
  });

  test('a JSON response that does not come in the total time is a time-out', async ({ expect }) => {
    await withProvider([silent], async ({ egress, to, deliver }) => {
      const { charges } = await deliver({ timeouts: { totalMs: LIMIT_MS } });
      expect(to.responses.map(({ body }) => JSON.parse(body.toString()).error.code)).toEqual(['request_timeout']);
      expect(charges).toEqual([]);
      await egress.asked[0]?.cancelled;
      expect(egress.asked).toHaveLength(1);
    });
  });

  describe('a client that does not read', () => {
    /** Writes until the socket takes no more. */
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

    test('pauses the provider without counting its silence, and gets everything when it reads again', async ({
      expect,
    }) => {
      const sent = { bytes: 0 };
      await withProvider([flood(20_000_000, sent)], async ({ to, deliver }) => {
        to.stopReading();
        const timeouts = { streamIdleMs: LIMIT_MS };
        const delivering = deliver({ stream: true, responseBodyBytes: 30_000_000, timeouts });
        await expect.poll(() => to.written.length).toBe(1);
        await sleep(LIMIT_MS * 1.25);
        expect(to.written).toHaveLength(1);
        expect(sent.bytes).toBeLessThan(3_000_000);
        to.read();
        const { outcome } = await delivering;
        expect(outcome).toMatchObject({ clientGone: false, attempts: [{ result: 'ok' }] });
        expect(to.text().length).toBeGreaterThan(19_000_000);
        expect(to.text().endsWith(DONE)).toBe(true);
      });
    });

    test('does not delay the charge of a request whose lease is lost', async ({ expect }) => {
      const lost = new AbortController();
      await withProvider([sendStream(HELLO, stalls)], async ({ to, deliver }) => {
        to.stopReading();
        const startedAtMs = performance.now();
        const charged = Promise.withResolvers<number>();
        const totalMs = 10 * LIMIT_MS;
        const what = { stream: true, timeouts: { totalMs }, mustEnd: lost.signal };
        const delivering = deliver(what, async () => {
          charged.resolve(performance.now());
          return undefined;
        });
        await expect.poll(() => to.written.length).toBe(1);
        lost.abort();
        // Until the total time-out nothing but the lost lease could bring the charge.
        expect((await charged.promise) - startedAtMs).toBeLessThan(totalMs - LIMIT_MS);
        to.leave();
        await delivering;
      });
    });
  });
});
