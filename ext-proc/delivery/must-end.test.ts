import { describe, expect, test } from 'vitest';
import { provider } from './admitted-request.fixture.ts';
import { client, endsSoonAfter, openDelivery } from './client.fixture.ts';
import { DONE, HELLO, sendStream } from './egress.fixture.ts';

const { egress, deliver, deliverStream } = await openDelivery();

const providers = [provider('alpha'), provider('beta', { onDisconnect: 'drain' })];

describe('a request whose process ends', () => {
  test('in mid-stream is cancelled, charged for the output so far, and ended with an error', async () => {
    const ends = new AbortController();
    egress.respondWith(sendStream(HELLO, () => undefined));
    const to = client();
    const delivering = deliverStream({ mustEnd: ends.signal }, to);
    await expect.poll(() => to.text()).toContain(' there');
    ends.abort();
    const { outcome, charges } = await delivering;
    await egress.asked[0]?.cancelled;
    expect(charges).toMatchObject([{ cancelled: false, usage: { promptTokens: 3, completionTokens: 2 } }]);
    expect(outcome).toMatchObject({ refusal: { code: 'upstream_error' }, attempts: [{ result: 'process_ends' }] });
    expect(to.text().endsWith(DONE)).toBe(true);
    expect(to.ended).toBe(true);
  });

  test.each([true, false])(
    'before the first byte is refused without a charge and not sent to another target (stream: %s)',
    async (stream) => {
      const ends = new AbortController();
      egress.respondWith(() => ends.abort());
      const { outcome, charges, responsesAtRelease } = await deliver({ stream, providers, mustEnd: ends.signal });
      expect(outcome).toMatchObject({ status: 503, refusal: { code: 'no_capacity' } });
      expect(charges).toEqual([]);
      expect(responsesAtRelease).toEqual([0]);
      expect(egress.asked).toHaveLength(1);
    },
  );

  test('while it waits for a retry is not retried', async () => {
    const ends = new AbortController();
    egress.respondWith((response) => {
      response.writeHead(429, { 'retry-after': '2' });
      response.end();
      setTimeout(() => ends.abort(), 50);
    });
    const delivering = deliver({ mustEnd: ends.signal });
    expect(await endsSoonAfter(ends.signal, delivering)).toBe(true);
    const { outcome } = await delivering;
    expect(outcome).toMatchObject({ status: 503, refusal: { code: 'no_capacity' } });
    expect(egress.asked).toHaveLength(1);
  });
});
