import { beforeAll, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import { ChargeRefused } from '#database/ledger/ledger.ts';
import { runCommandLine } from '#operator/command-line.ts';
import { settlementOf, sql } from '../harness/database.ts';
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
async function leaveLetter(costNanoUsd: bigint): Promise<Settlement> {
  const settlement = settlementOf(db.customer, {
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
  await db.store.ledger.deadLetter(settlement, why, true);
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
