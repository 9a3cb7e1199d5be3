import { expect, test } from 'vitest';
import type { BudgetRefusal } from '../fairness/shared-budget.ts';
import { admittedRequest } from './admitted-request.fixture.ts';
import { client, deliverTo, openDelivery } from './client.fixture.ts';
import { COMPLETION, sendJson } from './egress.fixture.ts';
import { LARGE_BYTES } from './json/send-large.ts';

const { egress, another } = await openDelivery();

const ANSWER_BYTES = Buffer.byteLength(JSON.stringify(COMPLETION));

test('a response beyond the share of its organization is 503 no_capacity without a charge; others are served', async () => {
  const refused: BudgetRefusal[] = [];
  const delivery = another({
    responseBudgetBytes: 4 * ANSWER_BYTES,
    onMemoryRefused: (why) => refused.push(why),
  });
  egress.respondWith(sendJson(COMPLETION));
  const committed = Promise.withResolvers<undefined>();
  const charging = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const held = charging.map((begun) =>
    deliverTo(delivery, client(), admittedRequest(), () => {
      begun.resolve();
      return committed.promise;
    }),
  );
  await Promise.all(charging.map(({ promise }) => promise));
  const { outcome, charges } = await deliverTo(delivery, client(), admittedRequest());
  expect(outcome).toMatchObject({ status: 503, refusal: { code: 'no_capacity' } });
  expect([charges, outcome.attempts]).toEqual([
    [],
    [{ provider: 'alpha', result: 'no_room', durationMs: expect.any(Number) }],
  ]);
  const other = await deliverTo(delivery, client(), admittedRequest({ organizationId: 'org_b' }));
  expect([other.outcome.status, refused]).toEqual([200, ['share']]);
  committed.resolve(undefined);
  for (const { outcome } of await Promise.all(held)) expect(outcome.status).toBe(200);
  expect((await deliverTo(delivery, client(), admittedRequest())).outcome.status).toBe(200);
  expect(delivery.responseBudget.heldBytes).toBe(0);
});

test.each([true, false])(
  'unread responses are charged, and are evicted for others if they are stored (%s)',
  async (keepsResponse) => {
    const [choice] = COMPLETION.choices;
    const message = { ...choice?.message, content: 'x'.repeat(2 * LARGE_BYTES) };
    egress.respondWith(sendJson({ ...COMPLETION, choices: [{ ...choice, message }] }));
    const delivery = another({ responseBudgetBytes: 4.5 * LARGE_BYTES });
    const unread = [client(), client()];
    const delivered = [];
    for (const to of unread.slice(0, keepsResponse ? 2 : 1)) {
      to.stopReading();
      delivered.push(deliverTo(delivery, to, { ...admittedRequest(), keepsResponse }));
      await expect.poll(() => to.written).toHaveLength(1);
    }
    const other = client();
    const last = await deliverTo(delivery, other, admittedRequest({ organizationId: 'org_b' }));
    expect(last.outcome.refusal?.code).toBe(keepsResponse ? undefined : 'no_capacity');
    expect([unread.map(({ aborted }) => aborted), other.ended]).toEqual([[keepsResponse, false], keepsResponse]);
    for (const to of unread) to.read();
    for (const { charges } of await Promise.all(delivered)) expect(charges).toHaveLength(1);
  },
);
