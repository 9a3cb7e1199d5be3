import type pg from 'pg';
import type { AuditEventView, AuditFilter, AuditPage } from '#contract/people.ts';
import { MINUTE_MS } from '#core/clock.ts';
import { idFloor, idMoment } from '#core/ids.ts';
import { present } from '#core/present.ts';
import { only, records, sql } from '../connection/connection-pool.ts';
import { milliseconds } from '../connection/milliseconds.ts';
import { STRIPE, THE_OPERATOR } from './audit.ts';

export interface AuditQuery extends AuditFilter {
  /** Absent: events of the whole service. */
  readonly organizationId?: string;
  /** True: operators who are not members, and command lines, are shown without their names. */
  readonly forCustomer: boolean;
  /** Id of an event. Only older events are returned. */
  readonly before?: string;
  readonly limit: number;
}

const BY_OPERATOR = `(a.actor_user_id is null or exists (
      select from users u where u.id = a.actor_user_id and (u.is_operator or u.operator_by_claim)
        and not exists (select from memberships m where m.user_id = u.id and m.organization_id = a.organization_id)
    ))`;
/** Restricts ids and times. Ids sort by time, but processes' clocks may differ by a minute. */
const RANGE = `($1::text is null or a.organization_id = $1) and ($2::text is null or a.id < $2)
      and ($3::text is null or a.id >= $3) and ($4::double precision is null or a.created_at >= to_timestamp($4 / 1000))
      and ($5::text is null or a.id < $5) and ($6::double precision is null or a.created_at < to_timestamp($6 / 1000))
    order by a.id desc limit $7`;
/**
 * Events of a page. Operators whose names the reader may not see cannot be found by name. Customers
 * see no event that changed only the price list. The inner limit bounds the events that are
 * scanned, the outer one those that are found.
 */
const LIST = sql('audit_page')`
  select p.*, o.name as "organizationName",
      (select jsonb_object_agg(k.id, k.name) from keys k where k.organization_id = p."organizationId"
        and k.id = any (array(select m[1] from regexp_matches(p.changes ->> 'search', '(key-[0-9A-Z]{26})', 'g') m))) as "keyNames"
    from (
      select a.id, ${milliseconds('a.created_at')} as "atMs", a.actor, a.address, a.action, a.organization_id as "organizationId",
        a.subject_id as "subjectId", a.subject_name as "subjectName", a.changes, ${BY_OPERATOR} as "byOperator"
      from (select * from audit_log a where ${RANGE}) a
      where ($8::text is null or strpos(lower(case when $9 and ${BY_OPERATOR} then $10 else a.actor end), lower($8)) > 0)
        and ($11::text is null or a.action = $11)
        and not ($9 and a.changes ? 'priceList' and a.changes - 'priceList' = '{}')
      order by a.id desc limit $12
    ) as p left join organizations o on o.id = p."organizationId"
    order by p.id desc`;
const SCAN_END = sql('audit_scan_end')`
  select count(*)::integer as scanned, min(id) as "lastId" from (select a.id from audit_log a where ${RANGE}) as scanned`;
/**
 * Events that one page scans, which takes 20 ms. A filter by actor or action has no index and may
 * match nothing, and scanning all of 200,000 events would take 830 ms (measured).
 */
const SCAN_ROWS = 5_000;

interface EventRow extends AuditEventView {
  readonly byOperator: boolean;
}

/** Newest first. A page scans at most `scanRows` events. */
export async function auditPage(pool: pg.Pool, query: AuditQuery, scanRows = SCAN_ROWS): Promise<AuditPage> {
  const { organizationId, forCustomer, before, actor, action, fromMs, toMs, limit } = query;
  const range = [
    ...[organizationId ?? null, before ?? null],
    ...(fromMs === undefined ? [null, null] : [idFloor('evt', fromMs - MINUTE_MS), fromMs]),
    ...(toMs === undefined ? [null, null] : [idFloor('evt', toMs + MINUTE_MS), toMs]),
    scanRows,
  ];
  const filter = [actor ?? null, forCustomer, THE_OPERATOR, action ?? null, limit + 1];
  const rows = await records<EventRow>(pool, LIST, [...range, ...filter]);
  const events = rows.slice(0, limit).map((row) => eventView(row, forCustomer));
  const last = events.at(-1);
  if (rows.length > limit && last !== undefined) return { events, next: last.id };
  const end = await only<{ scanned: number; lastId: string | null }>(pool, SCAN_END, range);
  if (end.lastId === null || end.scanned < scanRows) return { events };
  // Events that arrived between the two statements move the end of the second scan.
  const next = last !== undefined && last.id < end.lastId ? last.id : end.lastId;
  return { events, next, searchedToMs: idMoment(next) };
}

function eventView({ byOperator, address, ...event }: EventRow, forCustomer: boolean): AuditEventView {
  if (!forCustomer) return { ...event, ...present({ address }) };
  const changes = withoutPriceList(event.changes);
  if (byOperator && event.actor !== STRIPE) return { ...event, changes, actor: THE_OPERATOR };
  return { ...event, changes, ...present({ address }) };
}

/** Customers do not see the price list's name, which is the operator's word for them. */
function withoutPriceList(changes: AuditEventView['changes']): AuditEventView['changes'] {
  return Object.fromEntries(Object.entries(changes).filter(([field]) => field !== 'priceList'));
}
