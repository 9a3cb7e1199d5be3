import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Refused } from '../shared-budget/shared-budget.ts';
import { client, deliverTo, deliveryOver } from './client.fixture.ts';
import { COMPLETION, type Egress, sendJson, startEgress } from './egress.fixture.ts';
import { LARGE_BYTES } from './json/send-large.ts';
import { order } from './order.fixture.ts';

let egress: Egress;
beforeAll(async () => {
  egress = await startEgress();
});
afterAll(() => egress.close());

const ANSWER_BYTES = Buffer.byteLength(JSON.stringify(COMPLETION));

test('an answer beyond the share of its organization is 503 no_capacity and not charged; those of others are served', async () => {
  const refused: Refused[] = [];
  const delivery = deliveryOver(egress, {
    answerBudgetBytes: 4 * ANSWER_BYTES,
    onNoRoom: (why) => refused.push(why),
  });
  egress.answerWith(sendJson(COMPLETION));
  const committed = Promise.withResolvers<undefined>();
  const charging = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const held = charging.map((begun) =>
    deliverTo(delivery, client(), order(), () => {
      begun.resolve();
      return committed.promise;
    }),
  );
  await Promise.all(charging.map(({ promise }) => promise));
  const { outcome, charges } = await deliverTo(delivery, client(), order());
  expect(outcome).toMatchObject({ status: 503, refusal: { code: 'no_capacity' } });
  expect([charges, outcome.attempts]).toEqual([
    [],
    [{ provider: 'alpha', result: 'no_room', durationMs: expect.any(Number) }],
  ]);
  const other = await deliverTo(delivery, client(), order({ organizationId: 'org_b' }));
  expect([other.outcome.status, refused]).toEqual([200, ['share']]);
  committed.resolve(undefined);
  for (const { outcome } of await Promise.all(held)) expect(outcome.status).toBe(200);
  expect((await deliverTo(delivery, client(), order())).outcome.status).toBe(200);
  expect(delivery.answers.heldBytes).toBe(0);
  await delivery.close();
});

test.each([true, false])(
  'answers that nobody reads are charged, and give way to others where they are kept (%s)',
  async (keepsAnswer) => {
    const [choice] = COMPLETION.choices;
    const message = { ...choice?.message, content: 'x'.repeat(2 * LARGE_BYTES) };
    egress.answerWith(sendJson({ ...COMPLETION, choices: [{ ...choice, message }] }));
    const delivery = deliveryOver(egress, { answerBudgetBytes: 4.5 * LARGE_BYTES });
    const unread = [client(), client()];
    const delivered = [];
    for (const to of unread.slice(0, keepsAnswer ? 2 : 1)) {
      to.stopReading();
      delivered.push(deliverTo(delivery, to, { ...order(), keepsAnswer }));
      await expect.poll(() => to.written).toHaveLength(1);
    }
    const other = client();
    const last = await deliverTo(delivery, other, order({ organizationId: 'org_b' }));
    expect(last.outcome.refusal?.code).toBe(keepsAnswer ? undefined : 'no_capacity');
    expect([unread.map(({ aborted }) => aborted), other.ended]).toEqual([[keepsAnswer, false], keepsAnswer]);
    for (const to of unread) to.read();
    for (const { charges } of await Promise.all(delivered)) expect(charges).toHaveLength(1);
    await delivery.close();
  },
);
