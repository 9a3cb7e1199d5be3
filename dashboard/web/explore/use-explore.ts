import type { UseQueryResult } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import type { Explore, ExploreGrouping } from '#contract/explore.ts';
import { type ExploreState, filterOf, spanOf } from '#contract/explore-search.ts';
import type { ApiProblem } from '../api/api.ts';
import { useAsk, useOrganizationOfPage } from '../api/queries.ts';

const REFRESH_MS = 15_000;

/** Figures of the page's organization, or for operators of all organizations. */
export function useExplore(state: ExploreState, by: ExploreGrouping): UseQueryResult<Explore, ApiProblem> {
  const nowMs = useMoment(REFRESH_MS);
  const query = useMemo(() => ({ ...spanOf(state, nowMs), ...filterOf(state), by, compare: true }), [state, nowMs, by]);
  const isOne = useOrganizationOfPage() !== undefined;
  const endpoint = isOne ? 'GET /api/organizations/:organization/explore' : 'GET /api/explore';
  return useAsk(endpoint, { query }, { keepPrevious: true });
}

/** The current moment. Updated while the page is visible. */
function useMoment(everyMs: number): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && setNowMs(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return nowMs;
}
