import type pg from 'pg';
import type { DeliveryView } from '#contract/alerts.ts';
import { records, sql } from '../connection/connection-pool.ts';
import { milliseconds } from '../connection/milliseconds.ts';
import type { NewMessage } from './outbox.ts';

export interface DeliveryRecord extends NewMessage, Omit<DeliveryView, 'body' | keyof NewMessage> {
  /** Absent: the message is not about one organization. */
  readonly organizationName?: string;
}

const SHOWN = 100;
const SHOWN_ATTEMPTS = 30;

const newest = (kind: string) =>
  `(select id from outbox where organization_id is not distinct from $1 and ${kind} order by id desc limit ${SHOWN})`;
const LIST = sql('list_outbox')`
  select o.message_id as "messageId", o.channel, o.receiver, o.kind, o.content, o.organization_id as "organizationId",
      (select name from organizations n where n.id = o.organization_id) as "organizationName", coalesce(o.outcome, 'waiting') as state,
      ${milliseconds('o.created_at')} as "createdAtMs",
      case when o.finished_at is null then ${milliseconds('o.next_attempt_at')} end as "nextAttemptAtMs",
      coalesce((select jsonb_agg(jsonb_build_object('attempt', a.attempt, 'beganAtMs', ${milliseconds('a.began_at')}, 'tookMs', a.took_ms,
        'result', a.result) order by a.attempt)
        from (select * from outbox_attempts where outbox_id = o.id order by attempt desc limit ${SHOWN_ATTEMPTS}) a), '[]') as attempts
    from outbox o where o.id in (${newest("kind <> 'forgotten'")} union all ${newest("kind = 'forgotten'")}) order by o.id desc`;

/**
 * The newest messages of an organization, or of the operators if none is given, newest first. Mails
 * about forgotten passwords have a limit of their own, because anybody can cause them.
 */
export async function listDeliveries(pool: pg.Pool, organizationId: string | undefined): Promise<DeliveryRecord[]> {
  return records(pool, LIST, [organizationId ?? null]);
}
