import type pg from 'pg';
import { MINUTE_MS } from '../../ext-proc/domain/clock.ts';
import { idFloor } from '../../ext-proc/domain/ids.ts';
import { run, type Statement } from '../../ext-proc/stores/postgres/connection-pool.ts';
import type { AuditEventView, AuditFilter, AuditPage } from '../contract/people.ts';
import { THE_OPERATOR } from './operator-name.ts';
import { milliseconds } from './user-rows.ts';

export interface AuditQuery extends AuditFilter {
  /** Absent: of the whole service. */
  readonly organizationId?: string;
  /** Operators who are no members have no name there: nor has a command line. */
  readonly forCustomer: boolean;
  /** Only events before that one. */
  readonly before?: string;
  readonly limit: number;
}

const BY_OPERATOR = `(a.actor_user_id is null or exists (
      select from users u where u.id = a.actor_user_id and u.is_operator
        and not exists (select from memberships m where m.user_id = u.id and m.organization_id = a.organization_id)
    ))`;
/** An operator who has no name for the reader cannot be found by it. Ids sort by time, to a minute between the clocks of processes. */
const EVENTS = `select p.*, o.name as organization_name
  from (
    select a.id, ${milliseconds('a.created_at')} as created_ms, a.actor, a.actor_user_id, a.address, a.action, a.organization_id, a.subject_id,
      a.subject_name, a.changes, ${BY_OPERATOR} as by_operator
    from audit_log a
    where ($1::text is null or a.organization_id = $1) and ($2::text is null or a.id < $2)
      and ($4::text is null or strpos(lower(case when $5 and ${BY_OPERATOR} then $6 else a.actor end), lower($4)) > 0)
      and ($7::text is null or a.action = $7)
      and ($8::text is null or a.id >= $8) and ($9::double precision is null or a.created_at >= to_timestamp($9 / 1000))
      and ($10::text is null or a.id < $10) and ($11::double precision is null or a.created_at < to_timestamp($11 / 1000))
    order by a.id desc limit $3
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
  const { organizationId, forCustomer, before, actor, action, fromMs, toMs, limit } = query;
  const rows = await run<EventRow>(pool, LIST, [
    ...[organizationId ?? null, before ?? null, limit + 1],
    ...[actor ?? null, forCustomer, THE_OPERATOR, action ?? null],
    ...(fromMs === undefined ? [null, null] : [idFloor('evt', Math.max(0, fromMs - MINUTE_MS)), fromMs]),
    ...(toMs === undefined ? [null, null] : [idFloor('evt', toMs + MINUTE_MS), toMs]),
  ]);
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
