import { expect, test } from 'vitest';
import { SharedBudget } from '../../fairness/shared-budget.ts';
import { client } from '../client.fixture.ts';
import { sendRead } from './send-read.ts';

const LARGE = Buffer.alloc(600 * 1024, 'x');
const BUDGET_BYTES = 1024 * 1024;

const readOf = (body: Buffer) => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body,
  organizationId: 'org',
  timeoutMs: 60_000,
});

test('a small read is sent whole, and a large one piece by piece with its length', async () => {
  const [small, large] = [client(), client()];
  const budget = new SharedBudget(BUDGET_BYTES);
  expect(await sendRead(readOf(Buffer.from('{}')), small.exchange, budget)).toBeUndefined();
  expect(small.responses.map(({ body }) => body.toString())).toEqual(['{}']);
  expect(await sendRead(readOf(LARGE), large.exchange, budget)).toBeUndefined();
  expect(large.heads[0]?.headers['content-length']).toBe(String(LARGE.length));
  expect([large.written.length, large.text().length, large.ended]).toEqual([3, LARGE.length, true]);
  expect(budget.heldBytes).toBe(0);
});

test('a large unread response is evicted for others, and its client sees that it is incomplete', async () => {
  const to = client();
  to.stopReading();
  const budget = new SharedBudget(BUDGET_BYTES);
  const sending = sendRead(readOf(LARGE), to.exchange, budget);
  await expect.poll(() => to.heads.length).toBe(1);
  expect(budget.heldBytes).toBe(LARGE.length);
  const other = budget.open('other');
  expect(other.take(BUDGET_BYTES / 2)).toBe(true);
  expect(await sending).toBeUndefined();
  expect([to.aborted, to.ended, budget.heldBytes]).toEqual([true, false, BUDGET_BYTES / 2]);
});

test('a read that was evicted before its response began is broken off at once', async () => {
  const to = client();
  const budget = new SharedBudget(BUDGET_BYTES);
  const sending = sendRead(readOf(LARGE), to.exchange, budget);
  expect(budget.open('other').take(BUDGET_BYTES / 2)).toBe(true);
  expect(await sending).toBeUndefined();
  expect([to.text(), to.aborted, to.ended]).toEqual(['', true, false]);
});

test('a read that finds no memory is refused, and nothing is sent', async () => {
  const to = client();
  const budget = new SharedBudget(LARGE.length - 1);
  expect(await sendRead(readOf(LARGE), to.exchange, budget)).toMatchObject({ code: 'no_capacity' });
  expect([to.responses, to.heads, budget.heldBytes]).toEqual([[], [], 0]);
});
