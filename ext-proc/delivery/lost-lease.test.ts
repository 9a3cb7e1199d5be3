import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { client, deliverTo, deliveryOver } from './client.fixture.ts';
import type { Delivery } from './deliver.ts';
import { DONE, type Egress, HELLO, sendStream, startEgress } from './egress.fixture.ts';
import { order, provider } from './order.fixture.ts';

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

const timeouts = { totalMs: 20_000, firstByteMs: 20_000, streamIdleMs: 20_000 };
const providers = [provider('alpha'), provider('beta', { onDisconnect: 'drain' })];

describe('an order whose lease is lost', () => {
  test('in the middle of a stream is cancelled, charged what was produced, and ended with an error', async () => {
    const lost = new AbortController();
    egress.answerWith(sendStream(HELLO, () => undefined));
    const to = client();
    const delivering = deliverTo(delivery, to, order({ stream: true, timeouts, leaseLost: lost.signal }));
    await expect.poll(() => to.text()).toContain(' there');
    lost.abort();
    const { outcome, charges } = await delivering;
    await egress.asked[0]?.cancelled;
    expect(charges).toMatchObject([{ cancelled: false, usage: { promptTokens: 3, completionTokens: 2 } }]);
    expect(outcome).toMatchObject({ refusal: { code: 'upstream_error' }, attempts: [{ result: 'lease_lost' }] });
    expect(to.text().endsWith(DONE)).toBe(true);
    expect(to.ended).toBe(true);
  });

  test('is charged at once although its client does not read', async () => {
    const lost = new AbortController();
    egress.answerWith(sendStream(HELLO, () => undefined));
    const to = client();
    to.stopReading();
    const what = order({ stream: true, timeouts: { ...timeouts, totalMs: 3_000 }, leaseLost: lost.signal });
    let chargedAtMs = 0;
    const startedAtMs = performance.now();
    const delivering = deliverTo(delivery, to, what, async () => {
      chargedAtMs = performance.now();
      return undefined;
    });
    await expect.poll(() => to.written.length).toBe(1);
    lost.abort();
    await delivering;
    expect(chargedAtMs - startedAtMs).toBeLessThan(2_000);
  });

  test.each([true, false])(
    'before the first byte is refused unbilled, and asked of nobody else (stream: %s)',
    async (stream) => {
      const lost = new AbortController();
      egress.asked.length = 0;
      egress.answerWith(() => lost.abort());
      const to = client();
      const { outcome, charges, answersAtRelease } = await deliverTo(
        delivery,
        to,
        order({ stream, timeouts, providers, leaseLost: lost.signal }),
      );
      expect(outcome).toMatchObject({ status: 503, refusal: { code: 'no_capacity' } });
      expect(charges).toEqual([]);
      expect(answersAtRelease).toEqual([0]);
      expect(egress.asked).toHaveLength(1);
    },
  );

  test('while it waits to ask again is not asked again', async () => {
    const lost = new AbortController();
    egress.asked.length = 0;
    egress.answerWith((response) => {
      response.writeHead(429, { 'retry-after': '2' });
      response.end();
      setTimeout(() => lost.abort(), 50);
    });
    const startedAtMs = performance.now();
    const { outcome } = await deliverTo(delivery, client(), order({ timeouts, leaseLost: lost.signal }));
    expect(performance.now() - startedAtMs).toBeLessThan(1_500);
    expect(outcome).toMatchObject({ status: 503, refusal: { code: 'no_capacity' } });
    expect(egress.asked).toHaveLength(1);
  });
});
