import { expect, test } from 'vitest';
import { AnswerBudget } from './answer-budget.ts';
import { client, deliverTo, deliveryOver } from './client.fixture.ts';
import { COMPLETION, sendJson, startEgress } from './egress.fixture.ts';
import { order } from './order.fixture.ts';

test('answers share the room, and give theirs back once', () => {
  const budget = new AnswerBudget(100);
  const [first, second] = [budget.open(), budget.open()];
  expect([first.take(60), second.take(40), second.take(1)]).toEqual([true, true, false]);
  first.release();
  first.release();
  expect([second.take(60), second.take(1)]).toEqual([true, false]);
});

test('what can be had again is given up for others, the oldest first, and for no more than is needed', () => {
  const budget = new AnswerBudget(100);
  const givenUp: string[] = [];
  const [paid, first, second, third] = [budget.open(), budget.open(), budget.open(), budget.open()];
  expect([paid.take(40), first.take(30), second.take(30)]).toEqual([true, true, true]);
  first.yields(() => givenUp.push('first'));
  second.yields(() => givenUp.push('second'));
  expect(budget.open().take(20)).toBe(true);
  expect(givenUp).toEqual(['first']);
  // It has none any more that others could have.
  first.yields(() => givenUp.push('first again'));
  first.release();
  expect([third.take(10), third.take(20), third.take(60)]).toEqual([true, true, false]);
  expect([givenUp, budget.heldBytes]).toEqual([['first', 'second'], 90]);
  third.yields(() => givenUp.push('third'));
  third.stays();
  expect([budget.open().take(20), givenUp.length]).toEqual([false, 2]);
});

test('an answer that finds no room is 503 no_capacity and not charged; there is room again when others are through', async () => {
  const egress = await startEgress();
  const oneAnswerBytes = Buffer.byteLength(JSON.stringify(COMPLETION));
  const delivery = deliveryOver(egress, { answerBudgetBytes: Math.floor(oneAnswerBytes * 1.5) });
  try {
    egress.answerWith(sendJson(COMPLETION));
    const charging = Promise.withResolvers<void>();
    const committed = Promise.withResolvers<undefined>();
    const [first, second, third] = [client(), client(), client()];
    const held = deliverTo(delivery, first, order(), () => {
      charging.resolve();
      return committed.promise;
    });
    await charging.promise;
    const { outcome, charges } = await deliverTo(delivery, second, order());
    expect(outcome).toMatchObject({ status: 503, refusal: { code: 'no_capacity' } });
    expect([charges, outcome.attempts]).toEqual([
      [],
      [{ provider: 'alpha', result: 'no_room', durationMs: expect.any(Number) }],
    ]);
    committed.resolve(undefined);
    expect((await held).outcome.status).toBe(200);
    expect((await deliverTo(delivery, third, order())).outcome.status).toBe(200);
  } finally {
    await delivery.close();
    await egress.close();
  }
});
