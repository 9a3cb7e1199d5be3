import type pg from 'pg';
import { ALERTS_LOCK } from '../connection/advisory-locks.ts';
import { inTransaction, only, run, sql } from '../connection/connection-pool.ts';
import { addMessages, type MessageContent, type NewMessage, type WebhookKind } from './outbox.ts';

/** A condition that has begun and was not reported yet. */
interface Crossing {
  readonly organizationId: string;
  readonly kind: string;
  readonly subject: string;
  readonly content: MessageContent;
  readonly emails: readonly string[];
  readonly webhook: WebhookKind | null;
}

const TRY_LOCK = sql('try_alerts_lock')`select pg_try_advisory_xact_lock($1) as locked`;

const TODAY = "(now() at time zone 'UTC')::date";
/** Less what undecided dead letters owe, because requests cannot spend that. */
const BALANCE = 'a.balance_nano_usd - a.dead_letters_nano_usd';
/** Selects keys that are not revoked. Playground keys live for minutes and are left out. */
const LIVING_KEY = 'k.organization_id = s.organization_id and k.revoked_at is null and not k.playground';
const MARKS = 'cross join (values (80), (100)) m (percent)';

/** Facts about a key for the message. The note says whom to contact. */
const KEY_FACTS = "'key_id', k.id, 'key_name', k.name, 'key_note', k.note";

/** Separates the subject of a long budget, whose spend is a sum over days, from its period. */
const SUM = ':sum:';

/**
 * SQL for a budget whose spend is a sum over days. Summing a thousand keys that were used on every
 * day of a year takes 0.7 s, so only some checks read these budgets ($1).
 */
const longBudget = (budget: 'monthly' | 'lifetime', period: string, spent: string) => {
  const amount = `k.${budget}_budget_nano_usd`;
  return `select s.organization_id, 'key.budget', k.id || ':' || m.percent || '${SUM}' || ${period}, b.spent >= ${amount} * m.percent / 100.0,
      jsonb_build_object(${KEY_FACTS}, 'percent', m.percent, 'budget', '${budget}', 'spent_nano_usd', b.spent::text, 'budget_nano_usd', ${amount}::text)
    from alert_settings s join keys k on ${LIVING_KEY} and ${amount} is not null
      cross join lateral (select ${spent} as spent offset 0) b ${MARKS}
    where $1 and s.key_budgets and ${amount} > 0 and b.spent >= ${amount} * (m.percent - 5) / 100.0`;
};

/**
 * Current conditions of organizations with these alerts on. `is_on` is false within a margin in
 * which a reported condition neither ends nor is reported again: a balance within 5 % above its
 * threshold, or spend within 5 % of the budget below a mark.
 */
const CURRENT = `
  select s.organization_id, 'balance.low' as kind, '' as subject, ${BALANCE} < s.balance_below_nano_usd as is_on,
    jsonb_build_object('balance_nano_usd', (${BALANCE})::text, 'threshold_nano_usd', s.balance_below_nano_usd::text) as content
  from alert_settings s join accounts a using (organization_id)
  where s.balance_below_nano_usd is not null and ${BALANCE} < s.balance_below_nano_usd * 1.05
  union all
  select s.organization_id, 'key.budget', k.id || ':' || m.percent || ':' || d.day,
    d.spent_nano_usd >= k.daily_budget_nano_usd * m.percent / 100.0,
    jsonb_build_object(${KEY_FACTS}, 'percent', m.percent, 'budget', 'daily', 'day', d.day::text,
      'spent_nano_usd', d.spent_nano_usd::text, 'budget_nano_usd', k.daily_budget_nano_usd::text)
  from alert_settings s
    join keys k on ${LIVING_KEY} and k.daily_budget_nano_usd is not null
    join key_daily_spend d on d.key_id = k.id and d.day = ${TODAY} ${MARKS}
  where s.key_budgets and k.daily_budget_nano_usd > 0
    and d.spent_nano_usd >= k.daily_budget_nano_usd * (m.percent - 5) / 100.0
  union all
  ${longBudget('monthly', `to_char(${TODAY}, 'YYYY-MM')`, `key_month_spend(k.id, ${TODAY})`)}
  union all
  ${longBudget('lifetime', "'lifetime'", 'key_lifetime_spend(k.id)')}
  union all
  select s.organization_id, 'key.expires', k.id, true,
    jsonb_build_object(${KEY_FACTS}, 'expires_at', to_char(k.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
  from alert_settings s
    join keys k on ${LIVING_KEY} and k.expires_at is not null
  where s.key_expiry and k.expires_at > now() and k.expires_at <= now() + interval '7 days'`;

/** True if the organization of `current c` has a receiver. $2: there is a mail server. */
const HAS_RECEIVER = `exists (select from alert_settings s where s.organization_id = c.organization_id
          and (s.webhook_url is not null or ($2 and cardinality(s.emails) > 0)))`;

/** Each mark of a budget has its own crossing. Without a receiver, it waits for one. */
const CROSS = sql('cross_alerts')`
  with current as materialized (${CURRENT}), ended as (
      delete from alert_states a where a.organization_id <> '' and ($1 or position('${SUM}' in a.subject) = 0)
        and not exists (select from current c where (c.organization_id, c.kind, c.subject) = (a.organization_id, a.kind, a.subject))
    ), begun as (
      insert into alert_states (organization_id, kind, subject)
      select organization_id, kind, subject from current c where is_on and ${HAS_RECEIVER}
      on conflict do nothing returning organization_id, kind, subject
    )
    select b.organization_id as "organizationId", b.kind, b.subject, c.content, s.emails, s.webhook_kind as webhook
    from begun b join current c using (organization_id, kind, subject) join alert_settings s using (organization_id)
    order by 1, 2, 3`;

export interface CrossingOptions {
  /** False: there is no mail server. */
  readonly sendsMail: boolean;
  /** Also checks monthly and lifetime budgets. */
  readonly readsSums: boolean;
}

/**
 * Adds one message for each crossing and receiver, in one transaction. Only one dashboard does this
 * at a time. Returns the number of messages to send.
 */
export async function reportCrossings(pool: pg.Pool, { sendsMail, readsSums }: CrossingOptions): Promise<number> {
  return inTransaction(pool, 'begin', async (client) => {
    if (!(await isAlone(client))) return 0;
    const crossings = await run<Crossing>(client, CROSS, [readsSums, sendsMail]);
    const messages = crossings.flatMap(messagesOf).filter(({ channel }) => sendsMail || channel !== 'mail');
    return addMessages(client, messages);
  });
}

/** False: another dashboard is checking conditions. */
export async function isAlone(client: pg.PoolClient): Promise<boolean> {
  return (await only<{ locked: boolean }>(client, TRY_LOCK, [ALERTS_LOCK])).locked;
}

function messagesOf({ organizationId, kind, content, emails, webhook }: Crossing): NewMessage[] {
  return messagesTo({ emails, webhook: webhook ?? undefined }, { organizationId, kind, content });
}

export interface Receivers {
  readonly emails: readonly string[];
  readonly webhook: WebhookKind | undefined;
}

export function messagesTo(
  { emails, webhook }: Receivers,
  message: Pick<NewMessage, 'kind' | 'content'> & { readonly organizationId: string },
): NewMessage[] {
  const mails = emails.map((receiver): NewMessage => ({ ...message, channel: 'mail', receiver }));
  return webhook ? [...mails, { ...message, channel: webhook, receiver: message.organizationId }] : mails;
}
