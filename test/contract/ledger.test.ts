import { randomBytes } from 'node:crypto';
import { newId } from '#core/ids.ts';
import { addCustomer, BY, createDatabase, openStore } from '../harness/database.ts';
import { type LedgerUnderTest, ledgerContract } from './ledger.contract.ts';
import { createMemoryLedger } from './memory-ledger.ts';

ledgerContract('PostgreSQL', async (): Promise<LedgerUnderTest> => {
  const store = await openStore(await createDatabase());
  return {
    ledger: store.ledger,
    async addCustomer(creditNanoUsd) {
      const customer = await addCustomer(store, creditNanoUsd);
      const budgets = { monthlyBudgetNanoUsd: 1n, lifetimeBudgetNanoUsd: 1n };
      await store.administration.updateKey(customer.organizationId, customer.keyId, budgets, BY);
      return customer;
    },
    credit: async (organizationId, amountNanoUsd) => {
      await store.administration.credit(organizationId, { amountNanoUsd }, BY);
    },
    read: async ({ hash }, day) => {
      const principal = await store.keys.findByHash(hash, day);
      if (!principal) throw new Error('the key is there');
      return principal.account;
    },
    close: () => store.close(),
  };
});

ledgerContract('the ledger in memory', async (): Promise<LedgerUnderTest> => {
  const ledger = createMemoryLedger();
  return {
    ledger,
    async addCustomer(creditNanoUsd) {
      const [organizationId, keyId] = [newId('org', Date.now()), newId('key', Date.now())];
      ledger.addKey(organizationId, keyId);
      ledger.credit(organizationId, creditNanoUsd);
      return { organizationId, keyId, hash: randomBytes(32) };
    },
    credit: async (organizationId, amountNanoUsd) => ledger.credit(organizationId, amountNanoUsd),
    read: async ({ organizationId, keyId }, day) => ledger.read(organizationId, keyId, day),
    close: async () => {},
  };
});
