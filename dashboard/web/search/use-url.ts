import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { RawSearch, Search } from '#contract/define-search.ts';
import { boundsOf, type Span, type TimeState } from '#contract/explore-search.ts';
import { serverMs } from '../api/server-clock.ts';

/** The state of the page in its address. */
export interface Url<State> {
  readonly search: State;
  /** Changes some parameters. The browser's back button undoes a `step`. */
  readonly change: (next: Partial<State>, kind?: 'step') => void;
  /** True if any filter is set. */
  readonly isFiltered: boolean;
  readonly clear: () => void;
}

/** The bounds of a range. `Last 24 hours` counts from the moment of the choice. */
export function useBounds({ range, fromMs, toMs }: TimeState): Partial<Span> {
  return useMemo(() => boundsOf({ range, fromMs, toMs }, serverMs()), [range, fromMs, toMs]);
}

/** Parameters of the current page. `search` stays the same object until they change. */
export function useUrl<State extends object>(define: Search<State>): Url<State> {
  const raw = useSearch({ strict: false }) as RawSearch;
  const navigate = useNavigate();
  const search = useMemo(() => define(raw), [define, raw]);
  const change = (next: Partial<State>, kind?: 'step') =>
    void navigate({
      to: '.',
      search: ((before: RawSearch) => define({ ...before, ...next })) as never,
      replace: kind === undefined,
      resetScroll: false,
    });
  const filters = Object.keys(define.unfiltered) as (keyof State)[];
  return {
    search,
    change,
    isFiltered: filters.some((name) => search[name] !== undefined),
    clear: () => change(define.unfiltered),
  };
}
