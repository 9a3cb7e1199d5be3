import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { utcDay } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import type { AccountSnapshot } from '#core/principal.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import { ChargeRefused } from '#database/ledger/ledger.ts';
import { MemoryLimitStore } from '#ext-proc/limits/memory/memory-limit-store.ts';
import { runCommandLine } from '#operator/command-line.ts';
import { addCustomer, type Customer, settlementOf, sql } from '../harness/database.ts';
import { migratedFor } from '../harness/database-logins.ts';
import { withStore } from '../harness/with-store.ts';

/** URL of a database user with only an operator's rights. */
let operatorUrl = '';
const db = withStore({ creditNanoUsd: 1_000_000n });
beforeAll(async () => {
  operatorUrl = await migratedFor(db.url, 'gateway_operator');
});

const run = (...args: string[]) => runCommandLine(['ledger', 'dead-letters', ...args], { DATABASE_URL: operatorUrl });
const balance = async () => (await db.store.ledger.credits(db.customer.organizationId)).balanceNanoUsd;
const audited = () =>
  sql(db.url, `select action, subject_id, actor <> '' as by from audit_log where action like 'charge.%' order by id`);

/** Leaves a dead letter by a temporary change of the table, so that it can be charged later. */
async function leaveLetter(costNanoUsd: bigint, customer = db.customer, delivered = true): Promise<Settlement> {
  const settlement = settlementOf(customer, {
    generationId: newId('gen', Date.now()),
    costNanoUsd,
    model: 'forbidden',
  });
  await sql(db.url, `alter table generations add constraint no_model check (model <> 'forbidden') not valid`);
  const why = await db.store.ledger.charge(settlement).then(
    () => undefined,
    (error: unknown) => error,
  );
  await sql(db.url, 'alter table generations drop constraint no_model');
  expect(why).toBeInstanceOf(ChargeRefused);
  await db.store.ledger.deadLetter(settlement, why, delivered);
  return settlement;
}

it('lists dead letters, charges one again or books it as a loss, and records who did so', async () => {
  const [retried, forgiven] = [await leaveLetter(700n), await leaveLetter(50n)];
  expect(await run('list')).toMatchObject({
    kind: 'done',
    json: [
      {
        generation_id: retried.generationId,
        usd: 0.0000007,
        delivered: true,
        reason: expect.stringContaining('no_model'),
      },
      { generation_id: forgiven.generationId, usd: 0.00000005, organization_id: db.customer.organizationId },
    ],
  });
  expect(await db.store.administration.verifyLedger()).toMatchObject({ deadLetters: 2 });
  const before = await balance();
  expect(await run('retry', retried.generationId)).toMatchObject({
    json: { generation_id: retried.generationId, resolution: 'charged', usd: 0.0000007 },
  });
  expect(await run('forgive', forgiven.generationId)).toMatchObject({
    json: { generation_id: forgiven.generationId, resolution: 'forgiven', usd: 0.00000005 },
  });
  expect(before - (await balance())).toBe(700n);
  expect(await db.store.administration.losses(0)).toMatchObject([
    { generationId: forgiven.generationId, reason: 'forgiven', amountNanoUsd: 50n },
  ]);
  expect(await run('list')).toMatchObject({ kind: 'done', json: [] });
  expect(await db.store.administration.verifyLedger()).toMatchObject({ deadLetters: 0, differences: [] });
  expect(await audited()).toEqual([
    { action: 'charge.retried', subject_id: retried.generationId, by: true },
    { action: 'charge.forgiven', subject_id: forgiven.generationId, by: true },
  ]);
  for (const [command, id] of [
    ['retry', forgiven.generationId],
    ['forgive', retried.generationId],
  ] as const)
    expect(await run(command, id)).toMatchObject({ kind: 'refused', message: expect.stringContaining(`${id} was `) });
  expect([before - (await balance()), (await audited()).length]).toEqual([700n, 2]);
});

it('refuses unknown letters, and says why a letter still cannot be charged', async () => {
  for (const command of ['retry', 'forgive'])
    expect(await run(command, 'gen-nobody')).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('no dead letter'),
    });
  const settlement = await leaveLetter(1n);
  await sql(db.url, `alter table generations add constraint no_model check (model <> 'forbidden') not valid`);
  expect(await run('retry', settlement.generationId)).toMatchObject({ message: expect.stringContaining('no_model') });
  await sql(db.url, 'alter table generations drop constraint no_model');
  await sql(
    db.url,
    `insert into dead_letters (generation_id, organization_id, reason, settlement, delivered) values ('gen-1', 'org-1', 'because', '{}', true)`,
  );
  expect(await run('retry', 'gen-1')).toMatchObject({ message: expect.stringContaining('no charge') });
  const { json } = (await run('list')) as { json: object[] };
  expect(json).toContainEqual(
    expect.objectContaining({ generation_id: 'gen-1', usd: null, delivered: true, model: null }),
  );
  expect(await run('forgive', 'gen-1')).toMatchObject({ kind: 'done', json: { usd: 0 } });
  expect(await run('retry')).toMatchObject({ kind: 'usage' });
});

describe('what an undecided dead letter owes', () => {
  // One moment for all tests: a snapshot of yesterday would be read again forever.
  const nowMs = Date.now();
  const today = utcDay(nowMs);
  let customer: Customer;
  beforeEach(async () => {
    customer = await addCustomer(db.store, 500n);
  });

  async function account() {
    const caller = await db.store.keys.findByHash(customer.hash, today, 'database');
    if (caller === undefined) throw new Error('the key is known');
    return caller.account;
  }

  /** Sequence and balance of the snapshot, and the balance and amount held of the credits. */
  async function shown() {
    const { balanceNanoUsd: balance, deadLettersNanoUsd: held } = await db.store.ledger.credits(
      customer.organizationId,
    );
    const { sequence, balanceNanoUsd: available } = (await account()).organization;
    return { sequence, available, balance, held };
  }

  it.each(['retry', 'forgive'])('is not available to other requests, until it is decided: %s', async (decision) => {
    const { generationId } = await leaveLetter(400n, customer);
    expect(await shown()).toEqual({ sequence: 2, available: 100n, balance: 500n, held: 400n });
    const charged = await db.store.ledger.charge(settlementOf(customer, { costNanoUsd: 30n }));
    expect(charged.organization).toMatchObject({ sequence: 3, balanceNanoUsd: 70n });
    const batch = [1n, 2n].map((costNanoUsd) => db.store.ledger.charge(settlementOf(customer, { costNanoUsd })));
    for (const { organization } of await Promise.all(batch))
      expect(organization).toMatchObject({ sequence: 5, balanceNanoUsd: 67n });
    await db.store.ledger.deadLetter(settlementOf(customer, { generationId, costNanoUsd: 9n }), undefined, true);
    expect(await shown()).toEqual({ sequence: 5, available: 67n, balance: 467n, held: 400n });
    expect(await db.store.administration.verifyLedger()).toMatchObject({ differences: [] });
    expect(await run(decision, generationId)).toMatchObject({ kind: 'done' });
    const left = decision === 'retry' ? 67n : 467n;
    const sequence = decision === 'retry' ? 7 : 6;
    expect(await shown()).toEqual({ sequence, available: left, balance: left, held: 0n });
    expect(await db.store.administration.verifyLedger()).toMatchObject({ differences: [] });
  });

  it('refuses a request that needs it, also with a snapshot that was read before', async () => {
    const limits = new MemoryLimitStore({ leaseMs: 60_000 });
    const rules = { concurrency: 10, organizationLimits: {}, keyLimits: {}, tokens: 1, totalTimeoutMs: 60_000 };
    const admit = (holdId: string, holdNanoUsd: bigint, snapshot: AccountSnapshot) =>
      limits.admit({ ...customer, ...rules, holdId, holdNanoUsd, snapshot, nowMs });
    const before = await account();
    while ((await admit('first', 400n, before)).kind === 'read_again');
    await leaveLetter(400n, customer);
    await limits.release({ ...customer, holdId: 'first', nowMs, tokensUsed: 0, mayBeCharged: true });
    expect(await admit('second', 101n, before)).toMatchObject({ kind: 'read_again' });
    for (const snapshot of [await account(), before])
      expect(await admit('second', 101n, snapshot)).toMatchObject({ rule: 'balance', availableNanoUsd: 100n });
  });

  it('is nothing if the client was told that nothing is billed', async () => {
    const { generationId } = await leaveLetter(400n, customer, false);
    const before = { sequence: 1, available: 500n, balance: 500n, held: 0n };
    expect(await shown()).toEqual(before);
    expect(await run('forgive', generationId)).toMatchObject({ kind: 'done' });
    expect(await shown()).toEqual(before);
  });

  it('is at most 1e9 USD of all letters together, so that none of them is refused', async () => {
    const costNanoUsd = 10n ** 18n;
    const letters = Array.from({ length: 11 }, () => settlementOf(customer, { costNanoUsd, holdNanoUsd: costNanoUsd }));
    for (const letter of letters) await db.store.ledger.deadLetter(letter, undefined, true);
    expect(await shown()).toMatchObject({ available: 500n - costNanoUsd, held: costNanoUsd });
    expect(await db.store.administration.verifyLedger()).toMatchObject({ differences: [] });
    for (const { generationId } of letters.toReversed()) {
      expect(await run('forgive', generationId)).toMatchObject({ kind: 'done', json: { usd: 1e9 } });
      expect(await db.store.administration.verifyLedger()).toMatchObject({ differences: [] });
    }
    expect(await shown()).toMatchObject({ available: 500n, held: 0n });
  });

  it('is missed by the verification of the ledger, if the account does not have it', async () => {
    await leaveLetter(400n, customer);
    const set = (nanoUsd: number) =>
      sql(
        db.url,
        `update accounts set dead_letters_nano_usd = ${nanoUsd} where organization_id = '${customer.organizationId}'`,
      );
    await set(399);
    const { differences } = await db.store.administration.verifyLedger();
    expect(differences).toMatchObject([{ subject: customer.organizationId, expected: '400', found: '399' }]);
    await set(400);
  });
});
