import { afterEach, beforeEach, describe } from 'vitest';
import type { LimitStore } from '#ext-proc/limits/limit-store.ts';
import { budgetsContract } from './limit-budgets.contract.ts';
import { holdsContract } from './limit-holds.contract.ts';
import { owedContract } from './limit-owed.contract.ts';
import { quarantineContract } from './limit-quarantine.contract.ts';
import { rulesContract } from './limit-rules.contract.ts';
import { LEASE_MS } from './limit-store.fixtures.ts';

/** Opens an empty store, which takes the time from its calls. */
export type OpenLimitStore = (options: { readonly leaseMs: number }) => Promise<LimitStore>;

/** The guarantees of every limit store, in memory or in Redis. */
export function limitStoreContract(name: string, open: OpenLimitStore): void {
  describe(`${name} as a limit store`, () => {
    let store: LimitStore;
    beforeEach(async () => {
      store = await open({ leaseMs: LEASE_MS });
    });
    afterEach(() => store.close());
    rulesContract(() => store);
    budgetsContract(() => store);
    holdsContract(() => store);
    quarantineContract(() => store);
    owedContract(() => store);
  });
}
