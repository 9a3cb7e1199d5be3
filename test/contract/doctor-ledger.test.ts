import { expect, test } from 'vitest';
import { DAY_MS, utcDay } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import { openDiagnosis } from '#database/diagnosis.ts';
import { lookAtLedger } from '#operator/doctor/records.ts';
import { settlementOf, sql } from '../harness/database.ts';
import { withStore } from '../harness/with-store.ts';

const db = withStore({ creditNanoUsd: 1_000_000n });

async function verdicts(): Promise<string[]> {
  const database = await openDiagnosis(db.url);
  const findings = await lookAtLedger(database).finally(() => database.close());
  return findings.map(({ check, verdict, found }) => (verdict === 'ok' ? `ok: ${check}` : `${verdict}: ${found}`));
}

test('the doctor reports checkpoints and sums of costs that are hours late', async () => {
  const well = ['ok: ledger', 'ok: dead letters', 'ok: checkpoints', 'ok: sums of costs'];
  expect(await verdicts()).toEqual(well);
  const atMs = Date.now() - 3 * DAY_MS;
  await db.store.ledger.charge(
    settlementOf(db.customer, { generationId: newId('gen', atMs), createdAtMs: atMs, day: utcDay(atMs) }),
  );
  const none = 'warning: no day of costs is summed up yet, and reports read later days from every row';
  expect(await verdicts()).toEqual([...well.slice(0, 3), none]);
  const since = new Date(atMs).toISOString().slice(0, 10);
  await sql(db.url, `update cost_progress set summed_until = '${since}'`);
  const late = `warning: costs are summed up until ${since}, and reports read later days from every row`;
  expect(await verdicts()).toEqual([...well.slice(0, 3), late]);
  await sql(db.url, `update cost_progress set summed_until = date '${since}' + 1`);
  expect(await verdicts()).toEqual(well);

  await sql(
    db.url,
    `set session_replication_role = replica; update ledger_entries set created_at = now() - interval '4 hours'`,
  );
  const old = 'warning: the ledger has entries of 4 hours ago without a checkpoint';
  expect(await verdicts()).toEqual([...well.slice(0, 2), old, well[3]]);
  await sql(
    db.url,
    `insert into ledger_checkpoints select organization_id, sequence, balance_nano_usd, 1, 0, sha256(''), now(), sha256(''),
      sha256('') || sha256('') from ledger_entries where kind = 'charge'`,
  );
  expect(await verdicts()).toEqual(well);
});
