import { useState } from 'react';
import type { ChartProps } from './chart-data.ts';

const NONE: ReadonlySet<string> = new Set();

/** Series that clicks in the legend hide. Several charts of the same series can share them. */
export function useHiddenSeries(ids: readonly string[]): Required<Pick<ChartProps, 'hidden' | 'onToggle'>> {
  const [hidden, setHidden] = useState(NONE);
  return { hidden, onToggle: (id) => setHidden(toggleHidden(hidden, id, ids)) };
}

/** Hidden ids after a click in the legend. The last visible series stays visible. */
export function toggleHidden(hidden: ReadonlySet<string>, id: string, all: readonly string[]): ReadonlySet<string> {
  const next = new Set(hidden);
  if (!next.delete(id)) next.add(id);
  return all.some((one) => !next.has(one)) ? next : hidden;
}
