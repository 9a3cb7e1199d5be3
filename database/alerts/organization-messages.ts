import type pg from 'pg';
import type { NanoUsd } from '#core/money.ts';
import { inTransaction, run, sql } from '../connection/connection-pool.ts';
import { type AlertSettings, findAlertSettings } from './alert-settings.ts';
import { messagesTo } from './crossings.ts';
import { addMessages } from './outbox.ts';

/** Messages to an organization about a single event instead of a condition. */

const RECENT_TEST = sql('recent_test_of_alerts')`
  select from outbox where organization_id = $1 and kind = 'test' and created_at > now() - interval '1 minute' limit 1`;
const LOCK = sql('lock_alert_settings')`select from alert_settings where organization_id = $1 for update`;

/** Reports a failed top-up in the transaction that stores it, unless this alert is off. */
export async function reportFailedTopUp(
  client: pg.PoolClient,
  organizationId: string,
  { amountNanoUsd, automatic }: { readonly amountNanoUsd: NanoUsd; readonly automatic: boolean },
): Promise<void> {
  const settings = await findAlertSettings(client, organizationId);
  if (!settings.topUps) return;
  const content = { amount_nano_usd: amountNanoUsd.toString(), automatic };
  await addMessages(client, messagesTo(receiversOf(settings), { organizationId, kind: 'top_up.failed', content }));
}

/** Sends a test to every receiver, at most once a minute. Returns the number of messages. */
export async function sendTest(pool: pg.Pool, organizationId: string): Promise<number> {
  return inTransaction(pool, 'begin', async (client) => {
    await run(client, LOCK, [organizationId]);
    if ((await run(client, RECENT_TEST, [organizationId])).length > 0) return 0;
    const settings = await findAlertSettings(client, organizationId);
    const messages = messagesTo(receiversOf(settings), { organizationId, kind: 'test', content: {} });
    return addMessages(client, messages);
  });
}

function receiversOf({ emails, webhook }: AlertSettings) {
  return { emails, webhook: webhook?.kind };
}
