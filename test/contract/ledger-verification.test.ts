import { beforeEach, describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import type { LedgerReport } from '#database/ledger-verification/ledger-report.ts';
import { runCommandLine } from '#operator/command-line.ts';
import { DAY, settlementOf, sql } from '../harness/database.ts';
import { withStore } from '../harness/with-store.ts';

describe('ledger verification', () => {
  const db = withStore({ creditNanoUsd: 1_000n, each: true });
  beforeEach(async () => {
    const charge = (costNanoUsd: bigint) => db.store.ledger.charge(settlementOf(db.customer, { costNanoUsd }));
    await Promise.all([1n, 2n, 3n].map(charge));
  });

  const verify = (): Promise<LedgerReport> => db.store.administration.verifyLedger();

  async function rulesBrokenBy(tampering: string): Promise<string[]> {
    // Changes rows as somebody with the database's password could; triggers stop everybody else.
    await sql(db.url, `set session_replication_role = replica; ${tampering}`);
    return [...new Set((await verify()).differences.map(({ rule }) => rule))];
  }

  it('finds no difference in rows that the gateway wrote', async () => {
    expect(await verify()).toEqual({
      ...{ organizations: 1, entries: 4, generations: 3, deadLetters: 0, waitingCharges: 0 },
      differences: [],
    });
  });

  it('names the rule, the place, the expected and the found value', async () => {
    await sql(db.url, 'update daily_usage set requests = 2');
    expect((await verify()).differences).toEqual([
      {
        rule: 'daily usage is the sum of the generations',
        subject: `${db.customer.organizationId} 2026-11-21 ${db.customer.keyId} gpt-5-mini`,
        expected: '3 90 21 6 0 0 3 6',
        found: '2 90 21 6 0 0 3 6',
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
    [
      'a price that does not make the cost',
      'update generations set cached_input_pico_usd = 0 where cost_nano_usd = 2',
      'every generation costs what its tokens and prices say, less what was lost',
    ],
    [
      'a cost that is wrong in the same way everywhere',
      `update generations set cost_nano_usd = 1 where cost_nano_usd = 2;
       update ledger_entries set amount_nano_usd = -1 where amount_nano_usd = -2;
       update ledger_entries e set balance_nano_usd = (select sum(amount_nano_usd) from ledger_entries b where b.sequence <= e.sequence);
       update accounts set balance_nano_usd = balance_nano_usd + 1, total_usage_nano_usd = total_usage_nano_usd - 1;
       update daily_usage set cost_nano_usd = cost_nano_usd - 1;
       update organization_daily_spend set spent_nano_usd = spent_nano_usd - 1;
       update key_daily_spend set spent_nano_usd = spent_nano_usd - 1`,
      'every generation costs what its tokens and prices say, less what was lost',
    ],
    [
      'a loss that nothing explains',
      `insert into losses select id, organization_id, 'over_hold', 5, model, provider from generations where cost_nano_usd = 2`,
      'every generation costs what its tokens and prices say, less what was lost',
    ],
    [
      'a charge above its hold',
      'update generations set hold_nano_usd = 1 where cost_nano_usd = 2',
      'no generation costs more than its hold',
    ],
    [
      'a stored response that was not charged',
      `insert into idempotency_keys (organization_id, key_hash, body_hash, generation_id, lease_until, finished_at, response)
       select organization_id, sha256('k'), sha256('b'), 'gen-' || repeat('7', 26), now(), now(), '\\x00' from accounts`,
      'every stored response was charged',
    ],
    [
      'a request that was logged with a cost and has no generation',
      `insert into request_log (id, organization_id, key_id, request_id, generation_id, route, model_known, address, status, streamed, replayed, client_gone,
         cost_nano_usd, duration_ms)
       select 'log-' || repeat('0', 26), organization_id, 'key', 'r', 'gen-' || repeat('7', 26), 'chat', true, '::1', 200, false, false, false, 5, 1
       from accounts`,
      'every request that was logged with a cost has its generation',
    ],
    ["a key's spend", 'delete from key_daily_spend', "a key's daily spend is the sum of its daily usage"],
  ];
  it.each(TAMPERINGS)('finds %s', async (_what, tampering, rule) => {
    expect(await rulesBrokenBy(tampering)).toContain(rule);
  });

  it('is not ok with unresolved dead letters or waiting charges', async () => {
    const report = JSON.stringify({ waitingCharges: { count: 3, bytes: 2000 } });
    await sql(
      db.url,
      `insert into dead_letters (generation_id, organization_id, reason, settlement, delivered, resolution, resolved_at)
       values ('gen-1', 'o', 'r', '{}', true, 'forgiven', now()), ('gen-2', 'o', 'r', '{}', true, null, null);
       insert into gateway_processes (id, host, worker, pid, started_at, reported_at, report, configuration, configuration_loaded_at)
       values (gen_random_uuid(), 'h', 0, 1, now(), now(), '${report}', '{}', now())`,
    );
    const verified = await runCommandLine(['ledger', 'verify'], { DATABASE_URL: db.url });
    expect(verified).toMatchObject({
      kind: 'refused',
      json: { ok: false, dead_letters: 1, spooled_charges: 3, differences: [] },
    });
  });

  it('counts what a killed process reported until its successor reports', async () => {
    const insert = (pid: number, count: number, age: string) =>
      sql(
        db.url,
        `insert into gateway_processes (id, host, worker, pid, started_at, reported_at, report, configuration, configuration_loaded_at)
         values (gen_random_uuid(), 'h', 0, ${pid}, now() - interval '${age}', now() - interval '${age}',
           '{"waitingCharges": {"count": ${count}}}', '{}', now())`,
      );
    await insert(1, 3, '20 s');
    expect(await verify()).toMatchObject({ waitingCharges: 3 });
    await insert(2, 0, '10 s');
    expect(await verify()).toMatchObject({ waitingCharges: 0 });
  });

  it('skips only rows of detached months', async () => {
    // September is kept, and with it the day of the charges, whatever the month of the database is.
    for (const [month, first, end] of [
      ['2026_08', '2026-08-01Z', '2026-09-01Z'],
      ['2026_09', '2026-09-01Z', '2026-10-01Z'],
    ]) {
      await sql(
        db.url,
        `create table generations_${month} partition of generations
         for values from (id_floor('gen', timestamptz '${first}')) to (id_floor('gen', timestamptz '${end}'))`,
      );
    }
    const inAugust = Date.UTC(2026, 7, 15);
    const generationId = newId('gen', inAugust);
    const settlement = settlementOf(db.customer, { generationId, day: inAugust / 86_400_000, costNanoUsd: 5n });
    await db.store.ledger.charge(settlement);
    expect((await verify()).differences).toEqual([]);
    await sql(db.url, 'alter table generations detach partition generations_2026_08');
    expect(await verify()).toMatchObject({ entries: 5, generations: 3, differences: [] });
    expect(await rulesBrokenBy('delete from generations where cost_nano_usd = 2')).toEqual([
      'every generation is charged once, and every charge has its generation',
      'daily usage is the sum of the generations',
    ]);
  });

  it.each(['update ledger_entries set note = null', 'delete from ledger_entries', 'truncate ledger_entries'])(
    'PostgreSQL itself refuses: %s',
    async (statement) => {
      await expect(sql(db.url, statement)).rejects.toThrow('ledger_entries is append-only');
    },
  );
});
