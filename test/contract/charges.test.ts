import fc from 'fast-check';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import { type FieldValue, recordArrayText } from '#database/connection/record-text.ts';
import { propertyRuns } from '../fixtures/property-runs.ts';
import { addCustomer, DAY, settlementOf, sql } from '../harness/database.ts';
import { withStore } from '../harness/with-store.ts';
import { usageOf } from './usage-of.ts';

const db = withStore({ creditNanoUsd: 1_000n, verified: true });

const chargeOf = (changes: object) => ({
  ...{ id: newId('gen', Date.now()), organization_id: db.customer.organizationId, key_id: db.customer.keyId },
  ...{
    day: '2026-11-22',
    model: 'm',
    provider: 'p',
    provider_model: 'p-m',
    created_ms: 1,
    streamed: true,
    cancelled: false,
  },
  ...{ prompt_tokens: 5, completion_tokens: 4, cached_tokens: 3, reasoning_tokens: 2, usage_counted: true },
  ...{
    input_pico_usd: 1,
    cached_input_pico_usd: 1,
    output_pico_usd: 1,
    cost_nano_usd: 1,
    hold_nano_usd: 1,
    first_event_ms: 1,
    generation_time_ms: 1,
  },
  ...{ cache_write_tokens: 0, cache_write_1h_tokens: 0, cache_write_pico_usd: 1, cache_write_1h_pico_usd: 1 },
  ...changes,
});
const charge = (...charges: object[]) =>
  sql<{ charged: { accounts: unknown[][] } }>(
    db.url,
    `select charge_generations(array(
       select jsonb_populate_record(null::charge, one) from jsonb_array_elements('${JSON.stringify(charges)}') one)) as charged`,
  );
const balance = async () => (await db.store.ledger.credits(db.customer.organizationId)).balanceNanoUsd;

it('charges for users with any name', async () => {
  const model = 'é'.repeat(500);
  for (const user of ['\0', '😀'.repeat(512), "'; drop table keys; --", '\ud800', '{"a"}']) {
    await db.store.ledger.charge(settlementOf(db.customer, { user, model, costNanoUsd: 1n }));
  }
  const rows = await sql<{ end_user: string }>(
    db.url,
    `select end_user from user_usage where organization_id = '${db.customer.organizationId}' order by 1`,
  );
  expect(rows.map(({ end_user }) => end_user)).toEqual(
    expect.arrayContaining(['\ufffd', '😀'.repeat(512), "'; drop table keys; --", '{"a"}']),
  );
});

it('reads the usage of more users than a page has, in order', async () => {
  const stranger = await addCustomer(db.store, 1_000n);
  const users = Array.from({ length: 2_100 }, (_, at) => `user-${String(at).padStart(5, '0')}`);
  await Promise.all(users.map((user) => db.store.ledger.charge(settlementOf(stranger, { user, costNanoUsd: 0n }))));
  const groupBy = new Set(['user'] as const);
  const rows = await usageOf(db.store.ledger, { ...stranger, firstDay: DAY, lastDay: DAY, groupBy });
  expect(rows.map(({ user, requests }) => [user, requests])).toEqual(users.map((user) => [user, 1]));
});

it('verifies the usage of users', async () => {
  const stranger = await addCustomer(db.store, 1_000n);
  await db.store.ledger.charge(settlementOf(stranger, { user: 'ada', costNanoUsd: 1n }));
  const change = (by: string) =>
    sql(db.url, `update user_usage set requests = requests ${by} where organization_id = '${stranger.organizationId}'`);
  await change('+ 1');
  const { differences } = await db.store.administration.verifyLedger();
  await change('- 1');
  expect(JSON.stringify(differences)).toContain('usage of users is the sum of their generations');
});

describe('charge_generations()', () => {
  const CHECK = '23514';
  const NOT_NULL = '23502';
  it.each([
    [{ id: 'gen-0' }, CHECK],
    [{ id: `gen-8${'0'.repeat(25)}` }, CHECK],
    [{ id: `log-0${'0'.repeat(25)}` }, CHECK],
    [{ id: null }, NOT_NULL],
    [{ day: null }, NOT_NULL],
    [{ model: '' }, CHECK],
    [{ model: 'x'.repeat(501) }, CHECK],
    [{ model: null }, NOT_NULL],
    [{ provider: '' }, CHECK],
    [{ provider: 'x'.repeat(501) }, CHECK],
    [{ upstream_id: 'x'.repeat(201) }, CHECK],
    [{ finish_reason: 'x'.repeat(101) }, CHECK],
    [{ prompt_tokens: -1, cached_tokens: -1 }, CHECK],
    [{ completion_tokens: -1, reasoning_tokens: -1 }, CHECK],
    [{ cached_tokens: -1 }, CHECK],
    [{ cached_tokens: 6 }, CHECK],
    [{ cache_write_tokens: -1 }, CHECK],
    [{ cache_write_tokens: 3 }, CHECK],
    [{ cache_write_tokens: 1, cache_write_1h_tokens: 2 }, CHECK],
    [{ cache_write_1h_tokens: -1 }, CHECK],
    [{ service_tier: 'x'.repeat(65) }, CHECK],
    [{ priced_tier: '' }, CHECK],
    [{ priced_tier: 'x'.repeat(65) }, CHECK],
    [{ priced_above_tokens: 0 }, CHECK],
    [{ reasoning_tokens: -1 }, CHECK],
    [{ reasoning_tokens: 5 }, CHECK],
    [{ prompt_tokens: null }, NOT_NULL],
    [{ input_pico_usd: -1 }, CHECK],
    [{ cached_input_pico_usd: -1 }, CHECK],
    [{ cache_write_pico_usd: -1 }, CHECK],
    [{ cache_write_1h_pico_usd: -1 }, CHECK],
    [{ output_pico_usd: -1 }, CHECK],
    [{ cost_nano_usd: -1 }, CHECK],
    [{ cost_nano_usd: 1_000_000_000_000_000_001n.toString() }, CHECK],
    [{ cost_nano_usd: null }, CHECK],
    [{ hold_nano_usd: -1 }, CHECK],
    [{ provider_model: '' }, CHECK],
    [{ provider_model: 'x'.repeat(501) }, CHECK],
    [{ first_event_ms: -1 }, CHECK],
    [{ generation_time_ms: -1 }, CHECK],
    [{ organization_id: `org-${'0'.repeat(26)}` }, '23503'],
    [{ key_id: `key-${'0'.repeat(26)}` }, '23503'],
    [{ key_id: null }, '23503'],
  ])('refuses %j, and the whole batch with it', async (changes, code) => {
    const before = await balance();
    await expect(charge(chargeOf(changes))).rejects.toMatchObject({ code });
    await expect(charge(chargeOf({}), chargeOf(changes))).rejects.toMatchObject({ code });
    expect(await balance()).toBe(before);
  });

  it('accepts values at the bounds', async () => {
    const before = await balance();
    const free = { cached_input_pico_usd: 0, output_pico_usd: 0, cost_nano_usd: 0 };
    const edges = { cached_tokens: 5, reasoning_tokens: 4, ...free, first_event_ms: 0, model: 'x'.repeat(500) };
    await charge(chargeOf(edges), chargeOf({ cached_tokens: 0, reasoning_tokens: 0, upstream_id: 'x'.repeat(200) }));
    expect(await balance()).toBe(before - 1n);
  });

  it('charges new settlements beside repeated ones, of the same batch or an earlier one', async () => {
    const before = await balance();
    const [first, second, third] = [chargeOf({}), chargeOf({ day: '2026-11-20' }), chargeOf({})];
    await charge(first);
    const [row] = await charge(first, second, second, third);
    expect(await balance()).toBe(before - 3n);
    const days = row?.charged.accounts.map(([, day]) => day);
    expect(days?.toSorted()).toEqual([20_777, 20_779]);
    expect(row?.charged.accounts.map((account) => account[3])).toEqual(Array(2).fill(String(before - 3n)));
  });

  it('refuses a batch with an organization without an account', async () => {
    const before = await balance();
    const [org, key] = [newId('org', Date.now()), newId('key', Date.now())];
    await sql(
      db.url,
      `insert into organizations (id, name, concurrency) values ('${org}', 'x', 1);
       insert into keys (id, organization_id, name, hash, last4, scopes) values ('${key}', '${org}', 'x', sha256('x'), 'xxxx', '{chat}')`,
    );
    const homeless = chargeOf({ organization_id: org, key_id: key });
    await expect(charge(chargeOf({}), homeless)).rejects.toMatchObject({ code: '23503' });
    expect(await balance()).toBe(before);
  });
});

it('any batch of records reaches PostgreSQL unchanged', async () => {
  const client = new pg.Client({ connectionString: db.url });
  await client.connect();
  await client.query('create type anything as (a text, b bigint, c boolean, d text)');
  const text = fc.option(
    fc.oneof(
      fc.string({ unit: 'binary' }).map((value) => value.replaceAll('\0', '')),
      fc.string({ unit: fc.constantFrom('"', '\\', ',', '(', ')', '{', '}', ' ', '\n', 'a', "'") }),
      fc.constantFrom('', 'null', 'NULL'),
    ),
  );
  const record = fc.tuple(text, fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })), fc.boolean(), text);
  const columns = [0, 1, 2, 3].map((place) => (row: readonly FieldValue[]) => row[place]);
  await fc.assert(
    fc.asyncProperty(fc.array(record, { maxLength: 8 }), async (batch) => {
      const { rows } = await client.query({
        text: 'select a, b, c, d from unnest($1::anything[])',
        values: [recordArrayText(batch, columns)],
        rowMode: 'array',
      });
      expect(rows).toEqual(batch.map(([a, b, c, d]) => [a, b === null ? null : String(b), c, d]));
    }),
    { numRuns: propertyRuns(300) },
  );
  await client.end();
});

it('add_credit() refuses notes, references and actors that are empty or too long', async () => {
  const credit = (note: string, reference: string, actor: string) =>
    sql(db.url, `select add_credit('${db.customer.organizationId}', 1, ${note}, ${reference}, ${actor})`);
  const before = await balance();
  const [empty, long, longer] = ["''", "repeat('x', 201)", "repeat('x', 501)"];
  for (const refused of [
    () => credit(empty, 'null', "'me'"),
    () => credit(longer, 'null', "'me'"),
    () => credit('null', empty, "'me'"),
    () => credit('null', long, "'me'"),
    () => credit('null', 'null', empty),
    () => credit('null', 'null', long),
    () => credit('null', 'null', 'null'),
  ]) {
    await expect(refused()).rejects.toMatchObject({ code: '23514' });
  }
  expect(await balance()).toBe(before);
  await credit(long, "repeat('x', 200)", "repeat('x', 200)");
  expect(await balance()).toBe(before + 1n);
});
