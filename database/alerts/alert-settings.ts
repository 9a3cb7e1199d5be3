import type pg from 'pg';
import type { NanoUsd } from '#core/money.ts';
import type { Actor } from '../audit/audit.ts';
import { changesBetween, isEmpty } from '../audit/audit-changes.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { inTransaction, records, run, sql } from '../connection/connection-pool.ts';
import type { WebhookKind } from './outbox.ts';

/** The alerts that an organization has turned on, and their receivers. */
export interface AlertSettings {
  /** Absent: no alert about the balance. */
  readonly balanceBelowNanoUsd?: NanoUsd;
  readonly keyBudgets: boolean;
  readonly keyExpiry: boolean;
  readonly topUps: boolean;
  readonly emails: readonly string[];
  readonly webhook?: Webhook;
}

export interface Webhook {
  readonly url: string;
  /** `slack`: an incoming webhook of Slack, which receives messages as text. */
  readonly kind: WebhookKind;
  /** `whsec_` and base64, the form that receivers' libraries accept. */
  readonly secret: string;
}

/** Defaults for an organization that has saved no settings. Without a receiver nothing is sent. */
export const NEW_ALERTS: AlertSettings = { keyBudgets: true, keyExpiry: true, topUps: true, emails: [] };

const FIND = sql('find_alert_settings')`
  select s.balance_below_nano_usd as "balanceBelowNanoUsd", s.key_budgets as "keyBudgets", s.key_expiry as "keyExpiry", s.top_ups as "topUps",
      s.emails, case when s.webhook_url is not null then
        json_build_object('url', s.webhook_url, 'secret', s.webhook_secret, 'kind', s.webhook_kind) end as webhook
    from alert_settings s where s.organization_id = $1`;
const LOCK = sql('lock_organization_of_alerts')`select name from organizations where id = $1 for no key update`;
const SAVE = sql('save_alert_settings')`
  insert into alert_settings (organization_id, balance_below_nano_usd, key_budgets, key_expiry, top_ups, emails, webhook_url, webhook_secret, webhook_kind)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    on conflict (organization_id) do update set balance_below_nano_usd = excluded.balance_below_nano_usd, key_budgets = excluded.key_budgets,
      key_expiry = excluded.key_expiry, top_ups = excluded.top_ups, emails = excluded.emails, webhook_url = excluded.webhook_url,
      webhook_secret = excluded.webhook_secret, webhook_kind = excluded.webhook_kind`;
/** Drops waiting alerts to former receivers. Keeps invitations, which go to other addresses. */
const DROP_WAITING = sql('drop_waiting_alerts')`
  update outbox set finished_at = now(), outcome = 'dropped', lease = null, leased_until = null
    where organization_id = $1 and channel = 'mail' and kind <> 'invitation' and finished_at is null and receiver <> all($2::text[])`;
/** A changed threshold is a new condition. */
const FORGET_BALANCE = sql('forget_balance_alert')`
  delete from alert_states where organization_id = $1 and kind = 'balance.low'`;

export async function findAlertSettings(on: pg.Pool | pg.PoolClient, organizationId: string): Promise<AlertSettings> {
  const [found] = await records<AlertSettings>(on, FIND, [organizationId], ['balanceBelowNanoUsd']);
  return found ?? NEW_ALERTS;
}

/** `change` gets the current settings. `undefined`: the organization does not exist. */
export async function changeAlertSettings(
  pool: pg.Pool,
  organizationId: string,
  change: (before: AlertSettings) => AlertSettings,
  by: Actor,
): Promise<AlertSettings | undefined> {
  return inTransaction(pool, 'begin', (client) => changeHere(client, organizationId, change, by));
}

/** Stops alerts to an address, in the transaction that ends its membership. */
export async function removeReceiver(
  client: pg.PoolClient,
  organizationId: string,
  email: string,
  by: Actor,
): Promise<void> {
  const { emails } = await findAlertSettings(client, organizationId);
  if (!emails.includes(email)) return;
  const without = (before: AlertSettings) => ({ ...before, emails: before.emails.filter((one) => one !== email) });
  await changeHere(client, organizationId, without, by);
}

async function changeHere(
  client: pg.PoolClient,
  organizationId: string,
  change: (before: AlertSettings) => AlertSettings,
  by: Actor,
): Promise<AlertSettings | undefined> {
  const [organization] = await run<{ name: string }>(client, LOCK, [organizationId]);
  if (organization === undefined) return undefined;
  const before = await findAlertSettings(client, organizationId);
  const after = change(before);
  await run(client, SAVE, [
    organizationId,
    after.balanceBelowNanoUsd ?? null,
    after.keyBudgets,
    after.keyExpiry,
    after.topUps,
    after.emails,
    after.webhook?.url ?? null,
    after.webhook?.secret ?? null,
    after.webhook?.kind ?? null,
  ]);
  await run(client, DROP_WAITING, [organizationId, after.emails]);
  if (before.balanceBelowNanoUsd !== after.balanceBelowNanoUsd) await run(client, FORGET_BALANCE, [organizationId]);
  const changes = changesBetween(auditFields(before), auditFields(after));
  const replaced =
    before.webhook !== undefined && after.webhook !== undefined && before.webhook.secret !== after.webhook.secret;
  const subject = { organizationId, subjectId: organizationId, subjectName: organization.name };
  if (!isEmpty(changes)) await addAuditEvent(client, { action: 'alerts.updated', ...subject, changes }, by);
  if (replaced) await addAuditEvent(client, { action: 'alerts.secret_replaced', ...subject, changes: {} }, by);
  return after;
}

/** The audit log keeps only the origin of a URL, because the path may contain a token. */
function auditFields({ webhook, ...settings }: AlertSettings) {
  return { ...settings, webhook: webhook && new URL(webhook.url).origin, webhookKind: webhook?.kind };
}
