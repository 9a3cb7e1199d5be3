import { beforeEach, describe, expect, it } from 'vitest';
import type { LedgerReport } from '../../ext-proc/stores/administration.ts';
import { addCustomer, type Customer, createDatabase, DAY, openStore, settlementOf, sql } from './database.ts';

describe('ledger verification', () => {
  let url = '';
  let customer: Customer;
  beforeEach(async () => {
    url = await createDatabase();
    const store = await openStore(url);
    customer = await addCustomer(store, 1_000n);
    await Promise.all([1n, 2n, 3n].map((costNanoUsd) => store.ledger.settle(settlementOf(customer, { costNanoUsd }))));
    await store.close();
  });

  async function verify(): Promise<LedgerReport> {
    const store = await openStore(url);
    const report = await store.administration.verifyLedger();
    await store.close();
    return report;
  }

  async function rulesBrokenBy(tampering: string): Promise<string[]> {
    // What somebody with the database's password could do; the triggers hold off everybody else.
    await sql(url, `set session_replication_role = replica; ${tampering}`);
    return [...new Set((await verify()).differences.map(({ rule }) => rule))];
  }

  it('agrees with what the gateway wrote', async () => {
    expect(await verify()).toEqual({ organizations: 1, entries: 4, generations: 3, deadLetters: 0, differences: [] });
  });

  it('names rule, place, what should be and what is there', async () => {
    await sql(url, 'update daily_usage set requests = 2');
    expect((await verify()).differences).toEqual([
      {
        rule: 'daily usage is the sum of the generations',
        subject: `${customer.organizationId} 2026-11-21 ${customer.keyId} gpt-5-mini`,
        expected: '3 90 21 6 3 6',
        found: '2 90 21 6 3 6',
      },
    ]);
    expect(DAY).toBe(Date.UTC(2026, 10, 21) / 86_400_000);
  });

  const TAMPERINGS: readonly (readonly [what: string, tampering: string, rule: string])[] = [
    [
      'a balance',
      'update accounts set balance_nano_usd = balance_nano_usd + 1, total_credits_nano_usd = total_credits_nano_usd + 1',
      'the balance is the sum of the entries',
    ],
    [
      'totals that cancel out',
      'update accounts set total_credits_nano_usd = total_credits_nano_usd + 5, total_usage_nano_usd = total_usage_nano_usd + 5',
      'total credits and total usage are the sums of their entries',
    ],
    [
      'a removed entry',
      'delete from ledger_entries where sequence = 4',
      'entries are numbered without gaps up to the sequence of the account',
    ],
    [
      'a gap',
      'update ledger_entries set sequence = 9 where sequence = 4',
      'entries are numbered without gaps up to the sequence of the account',
    ],
    [
      'a running balance',
      'update ledger_entries set balance_nano_usd = 0 where sequence = 2',
      'every entry carries the balance after it',
    ],
    [
      'a changed amount',
      'update ledger_entries set amount_nano_usd = 0 where sequence = 2',
      'every generation is charged once, and every charge has its generation',
    ],
    [
      'a removed generation',
      'delete from generations where cost_nano_usd = 2',
      'every generation is charged once, and every charge has its generation',
    ],
    ['a removed account', 'delete from accounts', 'every entry belongs to an account'],
    ['removed usage', 'delete from daily_usage', 'daily usage is the sum of the generations'],
    [
      "an organization's spend",
      'update organization_daily_spend set spent_nano_usd = 0',
      "an organization's daily spend is the sum of its daily usage",
    ],
    ["a key's spend", 'delete from key_daily_spend', "a key's daily spend is the sum of its daily usage"],
  ];
  it.each(TAMPERINGS)('finds %s', async (_what, tampering, rule) => {
    expect(await rulesBrokenBy(tampering)).toContain(rule);
  });

  it.each(['update ledger_entries set note = null', 'delete from ledger_entries', 'truncate ledger_entries'])(
    'PostgreSQL itself refuses: %s',
    async (statement) => {
      await expect(sql(url, statement)).rejects.toThrow('ledger_entries is append-only');
    },
  );
});
