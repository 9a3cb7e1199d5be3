import type pg from 'pg';
import { MINUTE_MS } from '#core/clock.ts';
import { backOffMs } from '#core/retry/back-off.ts';
import { countChange } from '../audit/change-counts.ts';
import { OUTBOX_LOCK } from '../connection/advisory-locks.ts';
import { inTransaction, records, run, sql } from '../connection/connection-pool.ts';
import { milliseconds } from '../connection/milliseconds.ts';

/**
 * Messages that the dashboard sends at least once, to each receiver one after another. A message is
 * leased to one dashboard at a time, so several dashboards send it twice only if one of them ends
 * during an attempt.
 */
export type WebhookKind = 'webhook' | 'slack';
export type Channel = 'mail' | WebhookKind;

export interface NewMessage {
  /** Absent: the message is not about one organization. */
  readonly organizationId?: string;
  readonly channel: Channel;
  /** Email address, or the id of the organization that has the webhook. */
  readonly receiver: string;
  readonly kind: string;
  readonly content: MessageContent;
}

/** Plain JSON without secrets. */
export type MessageContent = Readonly<Record<string, string | number | boolean | null>>;

export interface LeasedMessage extends NewMessage {
  readonly id: string;
  readonly messageId: string;
  /** Absent: the message is not about one organization. */
  readonly organizationName?: string;
  readonly createdAtMs: number;
  /** By PostgreSQL's clock, as `createdAtMs`. */
  readonly ageMs: number;
  /** Number of this attempt, from 1. */
  readonly attempt: number;
  readonly lease: string;
}

/** `cancelled`: there is nothing left to send. */
export interface AttemptResult {
  readonly kind: 'delivered' | 'failed' | 'cancelled';
  /** The gateway's own words, never the receiver's. */
  readonly text: string;
  readonly tookMs: number;
}

/**
 * Lease of a message that a dashboard is sending. An attempt takes at most 40 s (mail), so another
 * dashboard takes over only after this one has ended.
 */
const LEASE = "interval '1 minute'";
const DAY = "interval '1 day'";
const GROWTH = { firstMs: 5_000, longestMs: 60 * MINUTE_MS, jitter: 0.3 };
/**
 * Waiting messages of one organization, and of the operators. Mails about forgotten passwords have
 * the same bound separately, because anybody can cause them and they may not displace alerts.
 */
export const MAX_WAITING = 200;
/** Mails of one organization to one address, which may belong to a stranger. */
export const MAX_MAILS_A_DAY = 300;
/** Mails of these kinds, which people cause one by one. */
export const MAX_ASKED_A_DAY = 20;
const ASKED_FOR: readonly string[] = ['invitation', 'test'];
/** A message with this many attempts cannot be sent again. */
const MAX_ATTEMPTS = 50;
/** Stored messages of an organization. Mails about forgotten passwords count separately. */
export const MAX_KEPT = 500;
const KEPT_FOR = "interval '30 days'";

/** Serializes insertions, so that ids of an organization's messages follow the order of commits. */
const LOCK = sql('lock_outbox')`select pg_advisory_xact_lock($1, hashtext($2))`;
const INSERT = sql('insert_outbox_message')`
  insert into outbox (organization_id, channel, receiver, kind, content, finished_at, outcome)
    select $1, $2, $3, $4, $5, case when w.full then now() end, case when w.full then 'dropped' end
    from (select not $6 or count(*) >= ${MAX_WAITING} as full from outbox
      where organization_id is not distinct from $1 and finished_at is null and (kind = 'forgotten') = ($4 = 'forgotten')) w
    returning outcome is null as taken`;
const OLDEST_KEPT = (kind: string) =>
  `(select id from outbox where organization_id is not distinct from $1 and ${kind} order by id desc offset ${MAX_KEPT - 1} limit 1)`;
const FORGET = sql('forget_outbox_messages')`
  delete from outbox where organization_id is not distinct from $1 and finished_at is not null and (
      finished_at < now() - ${KEPT_FOR}
      or (kind <> 'forgotten' and id < ${OLDEST_KEPT("kind <> 'forgotten'")})
      or (kind = 'forgotten' and id < ${OLDEST_KEPT("kind = 'forgotten'")}))`;
/**
 * Messages with fewer attempts come first, so receivers that keep failing delay no others.
 * Organizations that share an address do not wait for each other, and links for a forgotten
 * password, which are needed at once, not for alerts.
 */
const LEASE_DUE = sql('lease_outbox_messages')`
  with due as (
      select o.id from outbox o
      where o.finished_at is null and o.next_attempt_at <= now() and coalesce(o.leased_until < now(), true)
        and not exists (select from outbox e
          where e.channel = o.channel and e.receiver = o.receiver and e.organization_id is not distinct from o.organization_id
            and e.id < o.id and e.finished_at is null and (e.kind = 'forgotten') = (o.kind = 'forgotten'))
      order by o.attempts, o.next_attempt_at limit $1 for update skip locked
    ), leased as (
      update outbox o set attempts = attempts + 1, lease = gen_random_uuid(), leased_until = now() + ${LEASE}
      from due where o.id = due.id returning o.*
    ), noted as (
      insert into outbox_attempts (outbox_id, attempt) select id, attempts from leased
    )
    select id::text, message_id as "messageId", organization_id as "organizationId",
      (select name from organizations n where n.id = leased.organization_id) as "organizationName", channel, receiver, kind, content,
      ${milliseconds('created_at')} as "createdAtMs", (extract(epoch from now() - created_at) * 1000)::float8 as "ageMs",
      attempts as attempt, lease from leased`;
/** Does nothing if another dashboard has leased the message since. */
const END_ATTEMPT = sql('end_outbox_attempt')`
  with held as (select id from outbox where id = $1 and lease = $2 for update), ended as (
      update outbox o set lease = null, leased_until = null,
        next_attempt_at = now() + $4::double precision * interval '1 millisecond',
        finished_at = case when $3 <> 'failed' or now() >= o.created_at + ${DAY} then now() end,
        outcome = case when $3 = 'delivered' then 'delivered' when $3 = 'cancelled' then 'dropped'
          when now() >= o.created_at + ${DAY} then 'failed' end
      from held where o.id = held.id
    )
    update outbox_attempts a set took_ms = $5, result = left($6, 300) from held where a.outbox_id = held.id and a.attempt = $7
    returning a.attempt`;

/** Ends mails that the mail server refused: their next attempt may be an hour away. */
const END_FORMER = sql('end_former_forgotten_mails')`
  update outbox set finished_at = now(), outcome = 'dropped'
    where kind = 'forgotten' and receiver = $1 and finished_at is null and lease is null and attempts > 0`;

/** Excludes invitations, which are replaced by a new one instead. */
const FIND_FINISHED = sql('find_finished_message')`
  select o.organization_id as "organizationId", o.channel, o.receiver, o.kind, o.content
    from outbox o join alert_settings s on s.organization_id = o.organization_id
    where o.organization_id = $1 and o.message_id = $2 and o.finished_at is not null and o.attempts < ${MAX_ATTEMPTS} and o.kind <> 'invitation'
      and (o.channel = s.webhook_kind or o.channel = 'mail' and o.receiver = any(s.emails))
      and (select count(*) from outbox w where w.organization_id = $1 and w.finished_at is null) < ${MAX_WAITING}`;
const REOPEN = sql('reopen_message')`
  update outbox set finished_at = null, outcome = null, next_attempt_at = now() where organization_id = $1 and message_id = $2`;

/** Prevents others from adding messages of the owner in this transaction. `''`: the operators. */
export async function lockOutbox(client: pg.PoolClient, owner: string): Promise<void> {
  await run(client, LOCK, [OUTBOX_LOCK, owner]);
}

/** Adds messages in the transaction of their cause. Returns how many were not dropped. */
export async function addMessages(client: pg.PoolClient, messages: readonly NewMessage[]): Promise<number> {
  const owners = [...new Set(messages.map(({ organizationId = '' }) => organizationId))].sort();
  for (const owner of owners) await lockOutbox(client, owner);
  let taken = 0;
  for (const message of messages) {
    const { organizationId, channel, receiver, kind, content } = message;
    const values = [organizationId ?? null, channel, receiver, kind, JSON.stringify(content)];
    const [row] = await run<{ taken: boolean }>(client, INSERT, [...values, await mayBeSent(client, message)]);
    if (row?.taken) taken += 1;
  }
  for (const owner of owners) await run(client, FORGET, [owner === '' ? null : owner]);
  return taken;
}

/** Adds a mail with a link for a forgotten password. It replaces those that failed. */
export async function addForgottenMail(client: pg.PoolClient, mail: NewMessage): Promise<boolean> {
  if ((await addMessages(client, [mail])) === 0) return false;
  await run(client, END_FORMER, [mail.receiver]);
  return true;
}

/** Counts a mail of an organization. False: its address has received the day's maximum. */
async function mayBeSent(client: pg.PoolClient, { organizationId, channel, receiver, kind }: NewMessage) {
  if (organizationId === undefined || channel !== 'mail') return true;
  const count = (what: string, perDay: number) =>
    countChange(client, { subject: `${what} ${organizationId} ${receiver}` }, { perMinute: perDay, perDay });
  if (ASKED_FOR.includes(kind) && !(await count('asked mails', MAX_ASKED_A_DAY)).allowed) return false;
  return (await count('mails', MAX_MAILS_A_DAY)).allowed;
}

/** False: the message was dropped, as too many wait or its address has had the day's maximum. */
export async function addMessage(pool: pg.Pool, message: NewMessage): Promise<boolean> {
  return inTransaction(pool, 'begin', async (client) => (await addMessages(client, [message])) === 1);
}

/**
 * Sends a finished message again, if its receiver still is one. The message keeps its id, by which
 * the receiver recognizes it. False: the organization has no such message, it waits already, it had
 * too many attempts, or too many messages wait.
 */
export async function sendAgain(pool: pg.Pool, organizationId: string, messageId: string): Promise<boolean> {
  return inTransaction(pool, 'begin', async (client) => {
    await lockOutbox(client, organizationId);
    const [message] = await run<NewMessage>(client, FIND_FINISHED, [organizationId, messageId]);
    if (!message || !(await mayBeSent(client, { ...message, kind: 'test' }))) return false;
    await run(client, REOPEN, [organizationId, messageId]);
    return true;
  });
}

/** Leases the next message of each receiver whose next attempt is due. */
export async function leaseMessages(pool: pg.Pool, atMost: number): Promise<LeasedMessage[]> {
  return records<LeasedMessage>(pool, LEASE_DUE, [atMost]);
}

/** False: the lease had expired. The attempt counts as one without a result. */
export async function endAttempt(
  pool: pg.Pool,
  { id, lease, attempt }: Pick<LeasedMessage, 'id' | 'lease' | 'attempt'>,
  { kind, text, tookMs }: AttemptResult,
): Promise<boolean> {
  const delayMs = kind === 'failed' ? backOffMs(attempt, GROWTH) : 0;
  const rows = await run(pool, END_ATTEMPT, [id, lease, kind, delayMs, Math.round(tookMs), text, attempt]);
  return rows.length > 0;
}
