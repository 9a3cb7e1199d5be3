import type pg from 'pg';
import { newId } from '../../core/ids.ts';
import { run, type Statement } from '../connection/connection-pool.ts';
import type { Actor, AuditEvent } from './audit.ts';
import { boundedEvent } from './audit-bounds.ts';

const INSERT: Statement = {
  name: 'insert_audit_event',
  text: `insert into audit_log (id, organization_id, actor_user_id, actor, address, action, subject_id, subject_name, changes)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
};
const MAX_ACTOR = 300;
/** Bound of an address; an IPv6 address with a zone fits. */
const MAX_ADDRESS = 100;

/** Adds the event in the transaction of the change, so that neither exists without the other. */
export async function addAuditEvent(client: pg.PoolClient, given: AuditEvent, by: Actor): Promise<void> {
  const event = boundedEvent(given);
  await run(client, INSERT, [
    newId('evt', nextMoment()),
    event.organizationId ?? null,
    by.userId ?? null,
    by.actor.slice(0, MAX_ACTOR),
    by.address?.slice(0, MAX_ADDRESS) ?? null,
    event.action,
    event.subjectId ?? null,
    event.subjectName,
    JSON.stringify(event.changes),
  ]);
}

let latestMs = 0;

/**
 * Increasing milliseconds for ids, which sort by time: events of this process keep their order
 * within a millisecond.
 */
function nextMoment(): number {
  latestMs = Math.max(Date.now(), latestMs + 1);
  return latestMs;
}
