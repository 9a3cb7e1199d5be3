import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import type { NanoUsd } from '#core/money.ts';
import { addCustomer, type Customer, createDatabase, openStore, type TestStore } from './database.ts';

export interface StoreSettings {
  /** Balance of the customer. */
  readonly creditNanoUsd?: NanoUsd;
  /** True creates a database for each test. Default: one database for all tests of the block. */
  readonly each?: boolean;
  /** True verifies the ledger after the tests. */
  readonly verified?: boolean;
  readonly options?: Parameters<typeof openStore>[1];
}

export interface OpenedStore {
  /** URL of the database, for its owner. */
  readonly url: string;
  readonly store: TestStore;
  readonly customer: Customer;
}

/** A database with the stores of one process and one customer, for the tests of a file or block. */
export function withStore({ creditNanoUsd, each = false, verified = false, options }: StoreSettings = {}): OpenedStore {
  const opened = {} as { -readonly [Name in keyof OpenedStore]: OpenedStore[Name] };
  const [before, after] = each ? [beforeEach, afterEach] : [beforeAll, afterAll];
  before(async () => {
    opened.url = await createDatabase();
    opened.store = await openStore(opened.url, options);
    opened.customer = await addCustomer(opened.store, creditNanoUsd);
  });
  after(async () => {
    const report = verified ? await opened.store.administration.verifyLedger() : undefined;
    await opened.store?.close();
    if (report) expect(report.differences).toEqual([]);
  });
  return opened;
}
