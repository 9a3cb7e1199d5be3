import type pg from 'pg';
import { MINUTE_MS } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import { run, sql } from '../connection/connection-pool.ts';
import { databaseClock } from '../connection/database-clock.ts';
import type { Actor, AuditEvent } from './audit.ts';
import { boundedEvent } from './audit-bounds.ts';

const INSERT = sql('insert_audit_events')`
  insert into audit_log (id, organization_id, actor_user_id, actor, address, action, subject_id, subject_name, changes)
    select id, organization_id, $1, $2, $3, action, subject_id, subject_name, changes::jsonb
    from unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
      as event (id, organization_id, action, subject_id, subject_name, changes)`;
const MAX_ACTOR = 300;
/** Longest address. An IPv6 address with a zone fits. */
const MAX_ADDRESS = 100;

/** Adds the event in the transaction of the change, so that both are committed or neither. */
export async function addAuditEvent(client: pg.PoolClient, event: AuditEvent, by: Actor): Promise<void> {
  await addAuditEvents(client, [event], by);
}

/** Adds several events of one actor, in order, in one statement. */
export async function addAuditEvents(client: pg.PoolClient, given: readonly AuditEvent[], by: Actor): Promise<void> {
  const events = given.map(boundedEvent);
  const nowMs = await databaseClock(client);
  await run(client, INSERT, [
    by.userId ?? null,
    by.actor.slice(0, MAX_ACTOR),
    by.address?.slice(0, MAX_ADDRESS) ?? null,
    events.map(() => newId('evt', nextMoment(nowMs))),
    events.map(({ organizationId = null }) => organizationId),
    events.map(({ action }) => action),
    events.map(({ subjectId = null }) => subjectId),
    events.map(({ subjectName }) => subjectName),
    events.map(({ changes }) => JSON.stringify(changes)),
  ]);
}

let latestMs = 0;

/**
 * Strictly increasing milliseconds: ids sort by time, which keeps a process's events in order. A
 * clock that was set back is followed, or later events would have ids of the future.
 */
export function nextMoment(nowMs: number): number {
  latestMs = latestMs > nowMs + MINUTE_MS ? nowMs : Math.max(nowMs, latestMs + 1);
  return latestMs;
}
