import { expect, test } from 'vitest';
import type { DatabaseBatch } from '#database/connection/store-figures.ts';
import { addCustomer, createDatabase, DAY, openStore } from '../harness/database.ts';

const MANY = 12;
/** Timers may fire early, because they count from the event loop's time, which is slightly old. */
const EARLY_MS = 4;

/**
 * Measures from the sending of the former batch. A slow machine only makes the wait longer, so the
 * shortest of several counts.
 */
test.each([
  { severalProcesses: false, lookupMs: 8 },
  { severalProcesses: true, lookupMs: 16 },
])('the batch after one of many items waits $lookupMs ms: several processes $severalProcesses', async (expected) => {
  const { severalProcesses, lookupMs } = expected;
  const sent: { readonly batch: DatabaseBatch['batch']; readonly items: number; readonly atMs: number }[] = [];
  const onBatch = ({ batch, items, tookMs }: DatabaseBatch): void => {
    sent.push({ batch, items, atMs: performance.now() - tookMs });
  };
  const store = await openStore(await createDatabase(), { severalProcesses, onBatch });
  try {
    const customer = await addCustomer(store);
    const lookUp = (): Promise<unknown> => store.keys.findByHash(customer.hash, DAY);
    for (let round = 0; round < 15; round++) {
      await Promise.all(Array.from({ length: MANY }, lookUp));
      await lookUp();
    }
  } finally {
    await store.close();
  }
  const shortestAfterMany = (name: DatabaseBatch['batch']): number => {
    const those = sent.filter(({ batch }) => batch === name);
    const gaps = those.flatMap(({ atMs }, i) => {
      const before = those[i - 1];
      return before?.items === MANY ? [atMs - before.atMs] : [];
    });
    expect(gaps).toHaveLength(15);
    return Math.min(...gaps);
  };
  expect(shortestAfterMany('key_lookup')).toBeGreaterThanOrEqual(lookupMs - EARLY_MS);
});
