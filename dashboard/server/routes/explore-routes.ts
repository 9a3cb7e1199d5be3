import { type Explore, LONGEST_EXPLORED_MS, SHORTEST_EXPLORED_MS } from '#contract/explore.ts';
import { type ExploreInput, everyExploreInput, exploreInput } from '#contract/explore-filter.ts';
import { DAY_MS } from '#core/clock.ts';
import { explore } from '#database/request-log/explore-reads.ts';
import { type Problem, wrongField } from '../http/problem.ts';
import { type Deps, type Route, route } from '../http/route.ts';
import { exploreView } from './explore-view.ts';

export const EXPLORE_ROUTES: readonly Route[] = [
  route('GET /api/organizations/:organization/explore', {
    access: 'member',
    input: exploreInput,
    handle: ({ deps, organizationId, input }) => exploreFor(deps, input, organizationId),
  }),
  route('GET /api/explore', {
    access: 'operator',
    input: everyExploreInput,
    handle: ({ deps, input }) => exploreFor(deps, input),
  }),
];

async function exploreFor(
  { database, nowMs }: Pick<Deps, 'database' | 'nowMs'>,
  { fromMs, toMs, by, rank = 'cost', compare = false, ...filter }: ExploreInput,
  organizationId?: string,
): Promise<Explore | Problem> {
  if (toMs - fromMs < SHORTEST_EXPLORED_MS) return wrongField('fromMs', 'At least a minute.');
  if (toMs - fromMs > LONGEST_EXPLORED_MS) return wrongField('fromMs', 'At most 400 days.');
  if (toMs > nowMs() + DAY_MS) return wrongField('toMs', 'At most a day ahead.');
  const [one, ...others] = filter.organizations ?? [];
  const own = organizationId ?? (others.length === 0 ? one : undefined);
  const query = { fromMs, toMs, by, rank, compare, filter, ...(own === undefined ? {} : { organizationId: own }) };
  return exploreView(await explore(database, query), organizationId === undefined);
}
