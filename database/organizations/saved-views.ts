import type pg from 'pg';
import type { SavedView, SavedViewInput } from '#contract/views.ts';
import { newId } from '#core/ids.ts';
import { type Actor, nameForMembers } from '../audit/audit.ts';
import { changesBetween, isEmpty } from '../audit/audit-changes.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { VIEWS_LOCK } from '../connection/advisory-locks.ts';
import { type Connection, inTransaction, records, run, sql } from '../connection/connection-pool.ts';
import { milliseconds } from '../connection/milliseconds.ts';
import { stillHasRights } from './rights.ts';

export interface SavedViewRecord extends Omit<SavedView, 'mine'> {
  /** Id of the user who created the view. */
  readonly createdBy: string;
  /** Name of that user as members see it. Absent: the user no longer exists. */
  readonly creator?: string;
}

export type ViewResult =
  /** The view after the change, or before it was deleted. */
  | { readonly kind: 'done'; readonly view: SavedViewRecord }
  | { readonly kind: 'unknown_view' | 'not_allowed' | 'name_taken' | 'too_many' };

/** Bound for one organization, and for the operators. */
export const MAX_VIEWS = 50;

/** Serializes changes of one owner's views. */
const LOCK = sql('lock_views')`select pg_advisory_xact_lock(${VIEWS_LOCK}, hashtext($1))`;
const LIST = sql('list_views')`
  select v.id, v.name, v.page, v.search, v.created_by as "createdBy", ${milliseconds('v.created_at')} as "createdAtMs",
      case when v.organization_id is null then u.email else ${nameForMembers('u', 'v.organization_id')} end as creator
    from saved_views v left join users u on u.id = v.created_by
    where coalesce(v.organization_id, '') = $1 order by v.name`;
const SAVE = sql('save_view')`
  insert into saved_views (id, organization_id, name, page, search, created_by) values ($1, nullif($2, ''), $3, $4, $5, $6)
    on conflict (id) do update set name = excluded.name, page = excluded.page, search = excluded.search`;
const DELETE = sql('delete_view')`delete from saved_views where id = $1`;

/** Returns views by name. Without an organization, those of the operators. */
export function listViews(on: Connection, organizationId = ''): Promise<SavedViewRecord[]> {
  return records(on, LIST, [organizationId]);
}

export interface ViewChange {
  /** Absent: a view of the operators. */
  readonly organizationId?: string;
  /** Absent: a new view is created. */
  readonly id?: string;
  readonly allows: (view: SavedViewRecord) => boolean;
  /** Returns the view to save, given the current one. `undefined` deletes it. */
  readonly change: (before: SavedViewInput | undefined) => SavedViewInput | undefined;
}

export function changeView(
  pool: pg.Pool,
  { organizationId = '', id, allows, change }: ViewChange,
  by: Actor,
): Promise<ViewResult> {
  return inTransaction(pool, 'begin', async (client): Promise<ViewResult> => {
    await run(client, LOCK, [organizationId]);
    if (!(await stillHasRights(client, organizationId, by))) return { kind: 'unknown_view' };
    const views = await listViews(client, organizationId);
    const before = views.find((view) => view.id === id);
    if (id === undefined && views.length >= MAX_VIEWS) return { kind: 'too_many' };
    if (id !== undefined && before === undefined) return { kind: 'unknown_view' };
    if (before !== undefined && !allows(before)) return { kind: 'not_allowed' };
    const after = change(before);
    if (after !== undefined && views.some((view) => view !== before && view.name === after.name))
      return { kind: 'name_taken' };
    const viewId = id ?? newId('viw', Date.now());
    if (after === undefined) await run(client, DELETE, [viewId]);
    else await run(client, SAVE, [viewId, organizationId, after.name, after.page, after.search, by.userId]);
    const changes = changesBetween(auditFields(before), auditFields(after));
    const action = before === undefined ? 'view.created' : after === undefined ? 'view.deleted' : 'view.updated';
    const subject = { subjectId: viewId, subjectName: after?.name ?? before?.name ?? '' };
    const of = organizationId === '' ? {} : { organizationId };
    if (!isEmpty(changes)) await addAuditEvent(client, { action, ...of, ...subject, changes }, by);
    const [view = before] = (await listViews(client, organizationId)).filter((one) => one.id === viewId);
    return view === undefined ? { kind: 'unknown_view' } : { kind: 'done', view };
  });
}

function auditFields(view: SavedViewInput | undefined) {
  return view === undefined ? {} : { name: view.name, page: view.page, search: view.search };
}
