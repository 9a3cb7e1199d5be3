import type pg from 'pg';
import { run, type Statement } from '../../ext-proc/stores/postgres/connection-pool.ts';
import type { AuditEventView, AuditPage } from '../contract/people.ts';
import { THE_OPERATOR } from './operator-name.ts';
import { milliseconds } from './user-rows.ts';

export interface AuditQuery {
  /** Absent: of the whole service. */
  readonly organizationId?: string;
  /** Operators who are no members have no name there: nor has a command line. */
  readonly forCustomer: boolean;
  /** Only events before that one. */
  readonly before?: string;
  readonly limit: number;
}

const EVENTS = `select p.*, o.name as organization_name,
    p.actor_user_id is null or exists (
      select from users u where u.id = p.actor_user_id and u.is_operator
        and not exists (select from memberships m where m.user_id = u.id and m.organization_id = p.organization_id)
    ) as by_operator
  from (
    select id, ${milliseconds('created_at')} as created_ms, actor, actor_user_id, address, action, organization_id, subject_id, subject_name, changes
    from audit_log where ($1::text is null or organization_id = $1) and ($2::text is null or id < $2) order by id desc limit $3
  ) as p left join organizations o on o.id = p.organization_id
  order by p.id desc`;
const LIST: Statement = { name: 'audit_page', text: EVENTS };

interface EventRow {
  readonly id: string;
  readonly created_ms: number;
  readonly actor: string;
  readonly by_operator: boolean;
  readonly address: string | null;
  readonly action: string;
  readonly organization_id: string | null;
  readonly organization_name: string | null;
  readonly subject_id: string | null;
  readonly subject_name: string | null;
  readonly changes: AuditEventView['changes'];
}

/** Newest first. */
export async function auditPage(pool: pg.Pool, query: AuditQuery): Promise<AuditPage> {
  const { organizationId, forCustomer, before, limit } = query;
  const rows = await run<EventRow>(pool, LIST, [organizationId ?? null, before ?? null, limit + 1]);
  const events = rows.slice(0, limit).map((row) => eventView(row, forCustomer && row.by_operator));
  const last = events.at(-1);
  return { events, ...(rows.length > limit && last !== undefined ? { next: last.id } : {}) };
}

function eventView(row: EventRow, nameless: boolean): AuditEventView {
  return {
    id: row.id,
    atMs: row.created_ms,
    actor: nameless ? THE_OPERATOR : row.actor,
    ...(row.address === null || nameless ? {} : { address: row.address }),
    action: row.action,
    ...(row.organization_id === null ? {} : { organizationId: row.organization_id }),
    ...(row.organization_name === null ? {} : { organizationName: row.organization_name }),
    ...(row.subject_id === null ? {} : { subjectId: row.subject_id }),
    ...(row.subject_name === null ? {} : { subjectName: row.subject_name }),
    changes: row.changes,
  };
}
