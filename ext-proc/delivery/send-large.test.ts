import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AnswerBudget } from './answer-budget.ts';
import { client, deliverTo, deliveryOver } from './client.fixture.ts';
import { COMPLETION, type Egress, sendJson, startEgress } from './egress.fixture.ts';
import { order } from './order.fixture.ts';
import { LARGE_BYTES, type Sending, sendLarge } from './send-large.ts';

const NEVER_MS = 60_000;

describe('a large answer that its client does not read', () => {
  const BODY = Buffer.alloc(3 * LARGE_BYTES, 'x');
  const ANSWER = { status: 200, headers: { 'content-type': 'application/json' }, body: BODY };

  async function sending({ isKept = false, stalledMs = NEVER_MS, timeoutMs = NEVER_MS }: Partial<Sending>) {
    const to = client();
    to.stopReading();
    const budget = new AnswerBudget(BODY.length);
    const room = budget.open();
    expect(room.take(BODY.length)).toBe(true);
    const sent = sendLarge(to.exchange, ANSWER, room, { isKept, stalledMs, timeoutMs });
    await expect.poll(() => to.written).toHaveLength(1);
    return { to, sent, findsRoom: () => budget.open().take(1) };
  }

  test('gives way at once where it can be had again', async () => {
    const { to, sent, findsRoom } = await sending({ isKept: true });
    expect(findsRoom()).toBe(true);
    await sent;
    expect([to.aborted, to.ended]).toEqual([true, false]);
  });

  test('gives way when it has stood still for long where it cannot, and only then', async () => {
    const stalls = await sending({ stalledMs: 20 });
    await expect.poll(() => stalls.findsRoom()).toBe(true);
    await stalls.sent;
    expect([stalls.to.aborted, stalls.to.ended]).toEqual([true, false]);
    const pauses = await sending({});
    expect(pauses.findsRoom()).toBe(false);
    pauses.to.read();
    await pauses.sent;
    expect([pauses.to.aborted, pauses.to.ended]).toEqual([false, true]);
  });

  test('is cut when the time for it is over, and its room can be freed', async () => {
    const { to, sent } = await sending({ timeoutMs: 20 });
    await sent;
    expect([to.aborted, to.ended]).toEqual([true, false]);
  });

  test('stays where nobody needs the room, and goes on when its client does', async () => {
    const { to, sent } = await sending({ stalledMs: 1 });
    await new Promise((resolve) => setTimeout(resolve, 20));
    to.read();
    await sent;
    expect([to.text(), to.ended]).toEqual([BODY.toString(), true]);
    expect(to.heads).toEqual([{ status: 200, headers: { ...ANSWER.headers, 'content-length': String(BODY.length) } }]);
  });
});

describe('by a delivery', () => {
  let egress: Egress;
  beforeAll(async () => {
    egress = await startEgress();
  });
  afterAll(() => egress.close());

  test.each([true, false])(
    'others find room where an unread answer is kept (%s), and it is charged all the same',
    async (keepsAnswer) => {
      const [choice] = COMPLETION.choices;
      const message = { ...choice?.message, content: 'x'.repeat(2 * LARGE_BYTES) };
      egress.answerWith(sendJson({ ...COMPLETION, choices: [{ ...choice, message }] }));
      const delivery = deliveryOver(egress, { answerBudgetBytes: 3 * LARGE_BYTES });
      const [unread, other] = [client(), client()];
      unread.stopReading();
      const first = deliverTo(delivery, unread, { ...order(), keepsAnswer });
      await expect.poll(() => unread.written).toHaveLength(1);
      const second = await deliverTo(delivery, other, order());
      expect(second.outcome.refusal?.code).toBe(keepsAnswer ? undefined : 'no_capacity');
      expect([unread.aborted, other.ended]).toEqual([keepsAnswer, keepsAnswer]);
      unread.read();
      expect((await first).charges).toHaveLength(1);
      await delivery.close();
    },
  );
});
