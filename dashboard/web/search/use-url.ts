import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useMemo, useState } from 'react';
import type { RawSearch, Search } from '#contract/define-search.ts';
import { boundsOf, type Span, type TimeState } from '#contract/explore-search.ts';
import { MINUTE_MS, utcDay } from '#core/clock.ts';
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

/**
 * What a choice means now: `Last 24 hours` counts from the moment of the choice. At midnight UTC it
 * is computed again, because the page may stay open and `Yesterday` is another day.
 */
export function useOnDay<Value>(compute: (nowMs: number) => Value, choice: string): Value {
  const [day, setDay] = useState(() => utcDay(serverMs()));
  useEffect(() => {
    const timer = setInterval(() => setDay(utcDay(serverMs())), MINUTE_MS);
    return () => clearInterval(timer);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `choice` names all that is computed from
  return useMemo(() => compute(serverMs()), [choice, day]);
}

export function useBounds(time: TimeState): Partial<Span> {
  return useOnDay((nowMs) => boundsOf(time, nowMs), `${time.range} ${time.fromMs} ${time.toMs}`);
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
