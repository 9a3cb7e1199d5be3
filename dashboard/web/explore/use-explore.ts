import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { Explore, ExploreGrouping, ExploreRank } from '#contract/explore.ts';
import { type ExploreState, filterOf, type Measure, rankOf, spanOf } from '#contract/explore-search.ts';
import { type ApiProblem, ask } from '../api/api.ts';
import { useOrganizationOfPage } from '../api/queries.ts';
import { serverMs } from '../api/server-clock.ts';

const REFRESH_MS = 15_000;

/** The figures name their own choice, because those of the former one stay while others load. */
export interface Explored extends Explore {
  readonly by: ExploreGrouping;
  readonly rank: ExploreRank;
}

export type ExploreQuery = UseQueryResult<Explored, ApiProblem>;

/**
 * Figures of the page's organization, or for operators of all organizations. The current moment is
 * not part of the key, so a refresh that fails leaves the figures.
 */
export function useExplore(state: ExploreState, by: ExploreGrouping, usual: Measure): ExploreQuery {
  const organization = useOrganizationOfPage();
  const { range, fromMs, toMs, show = usual } = state;
  const rank = rankOf(show);
  const chosen = { ...filterOf(state), by, rank };
  return useQuery<Explored, ApiProblem, Explored>({
    queryKey: ['explore', organization, { range, fromMs, toMs }, chosen],
    queryFn: async ({ signal }) => {
      const query = { ...chosen, ...spanOf(state, serverMs()), compare: true };
      const explore =
        organization === undefined
          ? await ask('GET /api/explore', { query }, signal)
          : await ask('GET /api/organizations/:organization/explore', { params: { organization }, query }, signal);
      return { ...explore, by, rank };
    },
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });
}
