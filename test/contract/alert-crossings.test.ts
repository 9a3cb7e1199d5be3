import { expect, test } from 'vitest';
import { NANO_PER_USD } from '#core/money.ts';
import { changeAlertSettings, NEW_ALERTS } from '#database/alerts/alert-settings.ts';
import { reportCrossings } from '#database/alerts/crossings.ts';
import { BY, settlementOf, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { openAudited } from './audited-database.ts';

const database = opened(openAudited);

const report = (sendsMail: boolean) => reportCrossings(database.pool, { sendsMail, readsSums: true });

const usd = (dollars: number) => BigInt(dollars) * NANO_PER_USD;

async function organizationWith(change: object): Promise<string> {
  const id = await database.addOrganization();
  await changeAlertSettings(database.pool, id, () => ({ ...NEW_ALERTS, emails: ['a@example.com'], ...change }), BY);
  return id;
}

test('a balance is reported once for each crossing of its threshold, and 5 % above it the crossing ends', async () => {
  const id = await organizationWith({ balanceBelowNanoUsd: usd(100) });
  const reported: number[] = [];
  for (const change of [99, 1, -1, 5, -5, 7, -7]) {
    await database.administration.credit(id, { amountNanoUsd: usd(change) }, BY);
    reported.push(await report(true));
  }
  // Balances: 99, 100, 99, 104, 99, 106, 99.
  expect(reported).toEqual([1, 0, 0, 0, 0, 0, 1]);
  expect(await report(true)).toBe(0);
});

test('a balance is low when undecided dead letters owe what was above the threshold', async () => {
  const id = await organizationWith({ balanceBelowNanoUsd: usd(100) });
  await database.administration.credit(id, { amountNanoUsd: usd(110) }, BY);
  expect(await report(true)).toBe(0);
  const customer = { organizationId: id, keyId: 'key-1', hash: Buffer.alloc(32) };
  await database.ledger.deadLetter(settlementOf(customer, { costNanoUsd: usd(11) }), undefined, true);
  expect(await report(true)).toBe(1);
  const content = { balance_nano_usd: '99000000000', threshold_nano_usd: '100000000000' };
  expect(await sql(database.url, `select content from outbox where organization_id = '${id}'`)).toMatchObject([
    { content },
  ]);
});

test('a changed threshold begins another crossing', async () => {
  const id = await organizationWith({ balanceBelowNanoUsd: usd(1) });
  expect(await report(true)).toBe(1);
  await changeAlertSettings(database.pool, id, (now) => ({ ...now, balanceBelowNanoUsd: usd(2) }), BY);
  expect(await report(true)).toBe(1);
});

test('a condition without a receiver is reported once there is one', async () => {
  const id = await organizationWith({ balanceBelowNanoUsd: usd(1), emails: [] });
  expect(await report(true)).toBe(0);
  await changeAlertSettings(database.pool, id, (now) => ({ ...now, emails: ['late@example.com'] }), BY);
  expect([await report(true), await report(true)]).toEqual([1, 0]);
});

test('a condition with only mail receivers is reported once there is a mail server', async () => {
  await organizationWith({ balanceBelowNanoUsd: usd(1) });
  expect(await report(false)).toBe(0);
  expect([await report(true), await report(true)]).toEqual([1, 0]);
});

test('a condition that was sent to a webhook is not reported again with a mail server', async () => {
  await organizationWith({
    balanceBelowNanoUsd: usd(1),
    webhook: { url: 'https://example.com', secret: 'whsec_1', kind: 'webhook' },
  });
  expect([await report(false), await report(true)]).toEqual([1, 0]);
});

test('each change of the settings is in the audit log, without the path of the URL and the secret', async () => {
  const webhook = { url: 'https://example.com/path-sentinel', secret: 'whsec_sentinel', kind: 'webhook' } as const;
  const id = await organizationWith({ webhook });
  await changeAlertSettings(
    database.pool,
    id,
    (now) => ({ ...now, webhook: { ...webhook, secret: 'whsec_other' } }),
    BY,
  );
  await changeAlertSettings(database.pool, id, (now) => now, BY);
  const events = (await database.events(id)).filter(({ action }) => action.startsWith('alerts.'));
  expect(events.map(({ action, changes }) => [action, changes])).toEqual([
    [
      'alerts.updated',
      { emails: expect.anything(), webhook: [null, 'https://example.com'], webhookKind: [null, 'webhook'] },
    ],
    ['alerts.secret_replaced', {}],
  ]);
});
