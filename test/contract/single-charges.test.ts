import fc from 'fast-check';
import pg from 'pg';
import { expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import { propertyRuns } from '../fixtures/property-runs.ts';
import { createDatabase } from '../harness/database.ts';

const NOW_MS = Date.now();
const ids = (prefix: 'org' | 'key' | 'gen', count: number): string[] =>
  Array.from({ length: count }, () => newId(prefix, NOW_MS));

/** The second organization has a small balance. The last two keys have longer budgets. */
const ORGANIZATIONS = ids('org', 2);
const KEYS = ids('key', 4);
const OWNERS = [0, 1, 0, 0];
const BALANCES = [100_000, 60];
const BUDGETS = ['null, null', 'null, null', '1000, null', '1000, 5000'];
/** Few ids, so that charges repeat those of the same and of the other organization. */
const GENERATIONS = ids('gen', 40);

async function openBooks(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: await createDatabase() });
  await client.connect();
  for (const [at, organization] of ORGANIZATIONS.entries()) {
    await client.query(
      `insert into organizations (id, name, concurrency) values ('${organization}', 'test', 1);
       insert into accounts (organization_id) values ('${organization}');
       select add_credit('${organization}', ${BALANCES[at]}, null, null, 'test')`,
    );
  }
  for (const [at, key] of KEYS.entries()) {
    await client.query(
      `insert into keys (id, organization_id, name, hash, last4, scopes, monthly_budget_nano_usd, lifetime_budget_nano_usd)
       values ('${key}', '${ORGANIZATIONS[OWNERS[at] ?? 0]}', 'test', sha256('${key}'), 'test', '{chat}', ${BUDGETS[at]})`,
    );
  }
  return client;
}

const usual = fc.record({
  key: fc.nat({ max: KEYS.length - 1 }),
  id: fc.constantFrom(...GENERATIONS),
  day: fc.constantFrom('2026-10-31', '2026-11-22', '2026-11-23'),
  model: fc.constantFrom('m', 'n'),
  upstream_id: fc.option(fc.constantFrom('', 'u')),
  finish_reason: fc.option(fc.constant('stop')),
  cost_nano_usd: fc.nat({ max: 30 }),
  hold_nano_usd: fc.integer({ min: 10, max: 60 }),
  prompt_tokens: fc.integer({ min: 5, max: 9 }),
  cached_tokens: fc.nat({ max: 2 }),
  cache_write_tokens: fc.nat({ max: 3 }),
  service_tier: fc.option(fc.constant('flex')),
  priced_above_tokens: fc.option(fc.constant(7)),
});
/** Charges that are refused, alone or with others. */
const unusual = fc.option(
  fc.constantFrom(
    ...[{ organization_id: ORGANIZATIONS[1] }, { organization_id: null }, { key_id: KEYS[1] }, { key_id: null }],
    ...[{ id: null }, { id: 'gen-0' }, { model: null }, { model: '' }, { day: null }, { provider: null }],
    ...[
      { cost_nano_usd: null },
      { cost_nano_usd: -1 },
      { cost_nano_usd: '1000000000000000001' },
      { hold_nano_usd: -1 },
      { hold_nano_usd: null },
    ],
    ...[{ prompt_tokens: null }, { cached_tokens: 10 }, { cache_write_1h_tokens: 4 }, { reasoning_tokens: 5 }],
    ...[{ first_event_ms: null }, { generation_time_ms: -1 }, { streamed: null }, { created_ms: null }],
    ...[{ priced_tier: '' }, { priced_above_tokens: 0 }, { input_pico_usd: null }, { output_pico_usd: -1 }],
  ),
  { freq: 4 },
);
const anyCharge = fc.tuple(usual, unusual).map(([{ key, ...facts }, change]) => ({
  ...{
    organization_id: ORGANIZATIONS[OWNERS[key] ?? 0],
    key_id: KEYS[key],
    provider: 'p',
    provider_model: 'p-m',
    created_ms: NOW_MS,
  },
  ...{ streamed: true, cancelled: false, completion_tokens: 4, reasoning_tokens: 2, usage_counted: true },
  ...{ input_pico_usd: 1, cached_input_pico_usd: 1, output_pico_usd: 1, first_event_ms: 1, generation_time_ms: 1 },
  ...{ cache_write_1h_tokens: 0, cache_write_pico_usd: 1, cache_write_1h_pico_usd: 1 },
  ...facts,
  ...change,
}));

async function charge(books: pg.Client, name: string, one: object): Promise<unknown> {
  try {
    const { rows } = await books.query(`select ${name}(array[jsonb_populate_record(null::charge, $1)]) as charged`, [
      one,
    ]);
    const { accounts, losses } = rows[0].charged;
    return { accounts, losses };
  } catch (error) {
    return (error as pg.DatabaseError).code;
  }
}

const TABLES = [
  'accounts',
  'ledger_entries',
  'generations',
  'organization_daily_spend',
  'key_daily_spend',
  'daily_usage',
  'losses',
];

async function rowsOf(books: pg.Client): Promise<readonly unknown[]> {
  const rows: unknown[] = [];
  for (const table of TABLES) {
    // The time of the row is not part of a charge.
    const without = table === 'ledger_entries' || table === 'losses' ? " - 'created_at'" : '';
    const text = `select (to_jsonb(t)${without})::text as row from ${table} t order by 1`;
    rows.push((await books.query(text)).rows.map(({ row }) => `${table} ${row}`));
  }
  return rows;
}

it('a single charge writes the same rows and gets the same reply as one of a batch', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyCharge, { minLength: 30, maxLength: 60 }), async (charges) => {
      const [alone, batched] = [await openBooks(), await openBooks()];
      try {
        for (const one of charges) {
          const expected = await charge(batched, 'charge_batch', one);
          expect([one, await charge(alone, 'charge_generations', one)]).toEqual([one, expected]);
        }
        expect(await rowsOf(alone)).toEqual(await rowsOf(batched));
      } finally {
        await Promise.all([alone.end(), batched.end()]);
      }
    }),
    // A failure names its charge. Shrinking would take minutes.
    { numRuns: propertyRuns(40), endOnFailure: true },
  );
});
