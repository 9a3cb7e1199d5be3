import type { UseQueryResult } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import type { Explore, ExploreGrouping } from '#contract/explore.ts';
import type { ExploreInput } from '#contract/explore-filter.ts';
import { type ExploreState, filterOf, spanOf } from '#contract/explore-search.ts';
import type { ApiProblem } from '../api/api.ts';
import { useAsk } from '../api/queries.ts';

const REFRESH_MS = 15_000;

/** Figures of an organization, or of all of them for operators, with the time that they are of. */
export function useExplore(
  organization: string | undefined,
  state: ExploreState,
  usualBy: ExploreGrouping,
): { readonly query: UseQueryResult<Explore, ApiProblem>; readonly input: ExploreInput } {
  const nowMs = useMoment(REFRESH_MS);
  const { by = usualBy } = state;
  const input = useMemo(() => ({ ...spanOf(state, nowMs), ...filterOf(state), by, compare: true }), [state, nowMs, by]);
  const endpoint = organization === undefined ? 'GET /api/explore' : 'GET /api/organizations/:organization/explore';
  const params = { organization: organization ?? '' };
  return { query: useAsk(endpoint, { params, query: input }, { keepPrevious: true }), input };
}

/** The present moment, which moves on while the page is visible. */
function useMoment(everyMs: number): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && setNowMs(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return nowMs;
}
