import type pg from 'pg';
import { run, type Statement } from '../../ext-proc/stores/postgres/connection-pool.ts';
import type { AuditEventView, AuditPage } from '../contract/people.ts';
import { milliseconds } from './user-rows.ts';

export interface AuditQuery {
  /** Absent: of the whole service. */
  readonly organizationId?: string;
  /** Only events before that one. */
  readonly before?: string;
  readonly limit: number;
}

const EVENTS = `select p.*, o.name as organization_name from (
    select id, ${milliseconds('created_at')} as created_ms, actor, address, action, organization_id, subject_id, subject_name, changes
    from audit_log where ($1::text is null or organization_id = $1) and ($2::text is null or id < $2) order by id desc limit $3
  ) as p left join organizations o on o.id = p.organization_id
  order by p.id desc`;
const LIST: Statement = { name: 'audit_page', text: EVENTS };

interface EventRow {
  readonly id: string;
  readonly created_ms: number;
  readonly actor: string;
  readonly address: string | null;
  readonly action: string;
  readonly organization_id: string | null;
  readonly organization_name: string | null;
  readonly subject_id: string | null;
  readonly subject_name: string | null;
  readonly changes: AuditEventView['changes'];
}

/** Newest first. */
export async function auditPage(pool: pg.Pool, { organizationId, before, limit }: AuditQuery): Promise<AuditPage> {
  const rows = await run<EventRow>(pool, LIST, [organizationId ?? null, before ?? null, limit + 1]);
  const events = rows.slice(0, limit).map(eventView);
  const last = events.at(-1);
  return { events, ...(rows.length > limit && last !== undefined ? { next: last.id } : {}) };
}

function eventView(row: EventRow): AuditEventView {
  return {
    id: row.id,
    atMs: row.created_ms,
    actor: row.actor,
    ...(row.address === null ? {} : { address: row.address }),
    action: row.action,
    ...(row.organization_id === null ? {} : { organizationId: row.organization_id }),
    ...(row.organization_name === null ? {} : { organizationName: row.organization_name }),
    ...(row.subject_id === null ? {} : { subjectId: row.subject_id }),
    ...(row.subject_name === null ? {} : { subjectName: row.subject_name }),
    changes: row.changes,
  };
}
