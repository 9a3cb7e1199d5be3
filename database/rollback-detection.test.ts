import { expect, test } from 'vitest';
import type { AccountSnapshot, Principal } from '#core/principal.ts';
import { settlement } from '#ext-proc/billing/settlement.fixture.ts';
import { principalWith } from '#test/fixtures/principal.ts';
import { detectRollbacks } from './rollback-detection.ts';

const HASH = Buffer.alloc(32);

function accountAt(sequence: number, ledgerEpoch = 'epoch'): AccountSnapshot {
  const { account } = principalWith();
  return { ...account, ledgerEpoch, organization: { ...account.organization, sequence } };
}

/** A database whose answers come when the test says so. */
function played(mostKnown?: number) {
  const reads: PromiseWithResolvers<Principal>[] = [];
  const renewed: string[] = [];
  let settled = accountAt(0);
  const watch = detectRollbacks(
    {
      findByHash: () => {
        const read = Promise.withResolvers<Principal>();
        reads.push(read);
        return read.promise;
      },
      charge: async () => settled,
      chargeClaimed: async () => settled,
    },
    async (seen) => void renewed.push(seen),
    mostKnown,
  );
  const answer = (read: number, account: AccountSnapshot, organizationId = 'org-1') =>
    reads[read]?.resolve({ ...principalWith({}, { id: organizationId }), account });
  return {
    renewed,
    read: () => watch.findByHash(HASH, 20_000),
    answer,
    readNow(account: AccountSnapshot, organizationId?: string) {
      const read = watch.findByHash(HASH, 20_000);
      answer(reads.length - 1, account, organizationId);
      return read;
    },
    settleAt(sequence: number) {
      settled = accountAt(sequence);
      return watch.charge(settlement);
    },
  };
}

test('refuses a later read that returns an older state, and renews the epoch', async () => {
  const { readNow, settleAt, renewed } = played();
  await settleAt(80);
  await expect(readNow(accountAt(50))).rejects.toThrow(/went back in time/);
  expect(renewed).toEqual(['epoch']);
  await readNow(accountAt(50, 'another'));
  await readNow(accountAt(51, 'another'));
  await expect(readNow(accountAt(50, 'another'))).rejects.toThrow(/went back in time/);
});

test('renews the epoch after a later charge that returns an older state, which stays committed', async () => {
  const { readNow, settleAt, renewed } = played();
  await settleAt(80);
  await expect(settleAt(50)).resolves.toMatchObject({ organization: { sequence: 50 } });
  expect(renewed).toEqual(['epoch']);
  await expect(readNow(accountAt(50))).rejects.toThrow(/went back in time/);
});

test('accepts an older state from a read that began before a charge', async () => {
  const { read, answer, settleAt, renewed } = played();
  const early = read();
  await settleAt(80);
  answer(0, accountAt(79));
  await expect(early).resolves.toMatchObject({ account: { organization: { sequence: 79 } } });
  expect(renewed).toEqual([]);
});

test('evicts the least recently served organizations', async () => {
  const { readNow } = played(2);
  for (const id of ['org-1', 'org-2', 'org-3']) await readNow(accountAt(80), id);
  await readNow(accountAt(50), 'org-1');
  await expect(readNow(accountAt(50), 'org-3')).rejects.toThrow(/went back in time/);
});
