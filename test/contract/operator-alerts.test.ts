import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { newId } from '#core/ids.ts';
import { reportOperatorCrossings } from '#database/alerts/operator-crossings.ts';
import { openDiagnosis } from '#database/diagnosis.ts';
import { endMissedEvent, noteMissedEvent } from '#database/payments/forgotten-payments.ts';
import { lookAtEvents } from '#operator/doctor/dashboard-sections.ts';
import { sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { openAudited } from './audited-database.ts';

const database = opened(openAudited);

const PROCESS = randomUUID();

/** The number of alerts after a process reported this failure of a provider. */
function alertsAfter(failure: object): Promise<number> {
  return alertsOf({ providers: { openai: { lastFailure: { result: 'rejected', atMs: 1, ...failure } } } });
}

async function alertsOf(report: object): Promise<number> {
  await database.pool.query(
    `insert into gateway_processes (id, host, worker, pid, started_at, reported_at, report, configuration, configuration_loaded_at)
     values ($1, 'host', 0, 1, now(), now(), $2, '{}', now())
     on conflict (id) do update set report = excluded.report, reported_at = now()`,
    [PROCESS, JSON.stringify(report)],
  );
  return reportOperatorCrossings(database.pool, ['operator@example.com'], undefined);
}

test('a provider without funds is reported once, also with other failures in between, and again after an hour', async () => {
  const [funds, other] = [{ account: 'funds' }, {}];
  const reported: number[] = [];
  for (const failure of [funds, other, funds, other, funds]) reported.push(await alertsAfter(failure));
  expect(reported).toEqual([1, 0, 0, 0, 0]);
  await sql(database.url, "update alert_states set since = since - interval '1 hour'");
  expect([await alertsAfter(funds), await alertsAfter(other), await alertsAfter(funds)]).toEqual([0, 0, 1]);
});

test('an unknown service tier is reported once a day for each model', async () => {
  const tiers = (unknownTiers: object) => alertsOf({ providers: {}, unknownTiers });
  expect(await tiers({ 'gpt-6': 'turbo' })).toBe(1);
  expect(await tiers({ 'gpt-6': 'warp' })).toBe(0);
  expect(await tiers({})).toBe(0);
  expect(await tiers({ 'gpt-6': 'turbo', 'gpt-7': 'turbo' })).toBe(1);
  const sent = await sql(database.url, "select content from outbox where kind = 'models.unknown_tier' order by id");
  expect(sent.map(({ content }) => content)).toEqual([
    { model: 'gpt-6', tier: 'turbo' },
    { model: 'gpt-7', tier: 'turbo' },
  ]);
  await sql(database.url, "update alert_states set since = since - interval '1 day'");
  expect([await tiers({}), await tiers({ 'gpt-6': 'turbo' })]).toEqual([0, 1]);
});

test('payments without an event of Stripe are reported once, also by the doctor, until it arrives or a day has none', async () => {
  const seen = async () => {
    const diagnosis = await openDiagnosis(database.url);
    const findings = await lookAtEvents(diagnosis).finally(diagnosis.close);
    return [await alertsOf({}), ...findings.map(({ verdict }) => verdict)];
  };
  const organization = await database.addOrganization();
  await sql(
    database.url,
    `insert into top_ups (id, organization_id, automatic, amount_cents, payment_intent_id) values ('${newId('top', 1)}', '${organization}', false, 1, 'pi_1')`,
  );
  expect(await seen()).toEqual([0, 'ok']);
  const age = (by: string) =>
    sql(database.url, `update top_ups set event_missed_at = event_missed_at - interval '${by}'`);
  await noteMissedEvent(database.pool, 'pi_1');
  expect(await seen()).toEqual([0, 'ok']);
  await age('10 minutes');
  expect([await seen(), await seen()]).toEqual([
    [1, 'warning'],
    [0, 'warning'],
  ]);
  await age('1 day');
  expect(await seen()).toEqual([0, 'ok']);
  await noteMissedEvent(database.pool, 'pi_1');
  await age('10 minutes');
  expect(await seen()).toEqual([1, 'warning']);
  await endMissedEvent(database.pool, 'pi_1');
  expect(await seen()).toEqual([0, 'ok']);
});
