import type { Role } from '#contract/session.ts';
import { type SavedView, savedView, savedViewChange } from '#contract/views.ts';
import { present } from '#core/present.ts';
import {
  changeView,
  listViews,
  MAX_VIEWS,
  type SavedViewRecord,
  type ViewChange,
} from '#database/organizations/saved-views.ts';
import { conflictingField, notFound, type Problem, problem } from '../http/problem.ts';
import { actorOf, type Route, route, type UserCall } from '../http/route.ts';
import { mayManage } from './key-view.ts';

/** Without an organization, the views are the operators' over all organizations. */
type ViewCall = UserCall & { readonly organizationId?: string; readonly role?: Role };

const OWNERS = [
  ['/api/organizations/:organization/views', 'member'],
  ['/api/views', 'operator'],
] as const;

export const VIEW_ROUTES: readonly Route[] = OWNERS.flatMap(([path, access]) => [
  route(`GET ${path}`, {
    access,
    async handle(call: ViewCall) {
      const views = await listViews(call.deps.database, call.organizationId);
      return { views: views.map((view) => viewOf(call, view)) };
    },
  }),
  route(`POST ${path}`, {
    access,
    input: savedView,
    handle: (call) => change(call, { change: () => call.input }),
  }),
  route(`PATCH ${path}/:view`, {
    access,
    input: savedViewChange,
    handle: (call) =>
      change(call, { id: call.params.view, change: (before) => before && { ...before, ...call.input } }),
  }),
  route(`DELETE ${path}/:view`, {
    access,
    handle: (call) => change(call, { id: call.params.view, change: () => undefined }),
  }),
]);

function viewOf(call: ViewCall, view: SavedViewRecord): SavedView {
  const { createdBy: _, creator, ...shown } = view;
  return { ...shown, ...present({ createdBy: creator }), mine: mayManage(call, view) };
}

async function change(call: ViewCall, wanted: Pick<ViewChange, 'id' | 'change'>): Promise<SavedView | Problem> {
  const { deps, organizationId } = call;
  const allows = (view: SavedViewRecord) => mayManage(call, view);
  const result = await changeView(deps.database, { ...present({ organizationId }), ...wanted, allows }, actorOf(call));
  return result.kind === 'done' ? viewOf(call, result.view) : REFUSALS[result.kind];
}

const REFUSALS = {
  unknown_view: notFound('view'),
  not_allowed: problem('not_allowed', 'Somebody else made this view: ask an owner.'),
  name_taken: conflictingField('name', 'There is already a view with this name.'),
  too_many: problem('conflict', `There are ${MAX_VIEWS} views already: delete one that is no longer used.`),
};
