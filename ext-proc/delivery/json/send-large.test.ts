import { describe, expect, test } from 'vitest';
import { SharedBudget } from '../../fairness/shared-budget.ts';
import { client } from '../client.fixture.ts';
import { LARGE_BYTES, type Sending, sendLarge } from './send-large.ts';

const NEVER_MS = 60_000;

describe('a large response that its client does not read', () => {
  const BODY = Buffer.alloc(3 * LARGE_BYTES, 'x');
  const HEAD = { status: 200, headers: { 'content-type': 'application/json' } };

  async function sending({ isKept = false, stalledMs = NEVER_MS, timeoutMs = NEVER_MS }: Partial<Sending>) {
    const to = client();
    to.stopReading();
    const budget = new SharedBudget(2 * BODY.length);
    const reservation = budget.open('org_a');
    expect(reservation.take(BODY.length)).toBe(true);
    for (const other of ['org_b', 'org_c']) expect(budget.open(other).take(BODY.length / 2)).toBe(true);
    const sent = sendLarge(to.exchange, HEAD, [BODY], reservation, { isKept, stalledMs, timeoutMs });
    await expect.poll(() => to.written).toHaveLength(1);
    return { to, sent, findsRoom: () => budget.open('org_d').take(1) };
  }

  test('is evictable at once if it is stored', async () => {
    const { to, sent, findsRoom } = await sending({ isKept: true });
    expect(findsRoom()).toBe(true);
    await sent;
    expect([to.aborted, to.ended]).toEqual([true, false]);
  });

  test('is evictable only after a long stall if it is not stored', async () => {
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

  test('is cut off at its time limit, and its memory can be freed', async () => {
    const { to, sent } = await sending({ timeoutMs: 20 });
    await sent;
    expect([to.aborted, to.ended]).toEqual([true, false]);
  });

  test('stays if nobody needs the memory, and goes on when its client reads', async () => {
    const { to, sent } = await sending({ stalledMs: 1 });
    await new Promise((resolve) => setTimeout(resolve, 20));
    to.read();
    await sent;
    expect([to.text(), to.ended]).toEqual([BODY.toString(), true]);
    expect(to.heads).toEqual([{ status: 200, headers: { ...HEAD.headers, 'content-length': String(BODY.length) } }]);
  });
});
