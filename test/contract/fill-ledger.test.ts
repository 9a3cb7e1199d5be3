import { expect, it } from 'vitest';
import { addCustomer, addKey, createDatabase, openStore } from '../harness/database.ts';
import { fillLedger } from '../load/fill-ledger.ts';
import { fillRequestLog } from '../load/fill-request-log.ts';

it('a filled ledger verifies, and agrees with the request log that it was filled from', async () => {
  const url = await createDatabase();
  const store = await openStore(url);
  const { organizationId } = await addCustomer(store, 0n);
  await addKey(store, organizationId);
  await fillRequestLog(url, { organizationId, rows: 2_000, days: 3 });
  await fillLedger(url, organizationId, 2_000);
  const report = await store.administration.verifyLedger();
  expect(report.differences).toEqual([]);
  expect(report.generations).toBeGreaterThan(1_000);
  expect(report.entries).toBe(report.generations + 1);
  await store.close();
});
