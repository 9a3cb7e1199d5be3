import { expect, test } from 'vitest';
import type { UsageGroup } from '#database/ledger/ledger.ts';
import { createReadTurns, ledgerInTurns } from './reads-in-turns.ts';

test('sums by user leave turns to other sums and to lookups', async () => {
  const byUser = Promise.withResolvers<boolean>();
  let running = 0;
  const ledger = ledgerInTurns(
    {
      findGeneration: () => Promise.resolve(undefined),
      credits: () => Promise.reject(new Error('not asked')),
      usage: ({ groupBy }) => {
        if (!groupBy.has('user')) return Promise.resolve(true);
        running += 1;
        return byUser.promise;
      },
    },
    createReadTurns({ administration: 4, idempotency: 4 }),
  );
  const sum = (organizationId: string, ...groups: UsageGroup[]) =>
    ledger.usage({ organizationId, firstDay: 0, lastDay: 0, groupBy: new Set(groups) }, () => true);

  const slow = [sum('org-0', 'day', 'user'), sum('org-1', 'user')];
  expect(await sum('org-2', 'day')).toBe(true);
  expect(await ledger.findGeneration('org-2', 'gen-1')).toBeUndefined();
  expect(running).toBe(1);
  byUser.resolve(true);
  expect(await Promise.all(slow)).toEqual([true, true]);
});
