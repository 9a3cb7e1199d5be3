import { lazy, type ReactNode, Suspense, useEffect } from 'react';
import { Skeleton } from '../components/skeleton.tsx';
import styles from './chart.module.css';
import { ChartTable } from './chart-table.tsx';

export interface ChartSeries {
  readonly id: string;
  readonly label: string;
  /** One for each step. */
  readonly values: readonly number[];
  /** Everything that is not shown by itself: grey. */
  readonly isOther?: boolean;
}

export interface ChartProps {
  /** What it shows, in words: `Spend by model`. */
  readonly label: string;
  readonly kind: 'stacked-bars' | 'lines';
  /** Start of each step, ascending. Absent: not known yet; the place is kept. */
  readonly startsMs: readonly number[] | undefined;
  /** The first is drawn at the bottom. At most 8 and one `isOther`. */
  readonly series: readonly ChartSeries[];
  /** Of one value, for axis and legend: `formatDollars`, `formatCompact`. */
  readonly format: (value: number) => string;
  /** Of the start of a step; `day` steps are days of UTC. */
  readonly step: 'hour' | 'day';
  readonly heightPx?: number;
  /** Of a value on the axis, where that is short of room. Absent: `format`. */
  readonly formatAxis?: (value: number) => string;
  /** Charts with the same one show the same step under the pointer: their `startsMs` must be equal. */
  readonly syncKey?: string;
  /** Ids of series that are left out, and what the legend does with a click. Charts of the same series can share both. */
  readonly hidden?: ReadonlySet<string>;
  readonly onToggle?: (id: string) => void;
}

// uPlot and its CSS are a fifth of the page: only who looks at a chart loads them.
const load = () => import('./chart-canvas.tsx');
const ChartCanvas = lazy(() => load().then((module) => ({ default: module.ChartCanvas })));

/** Values over time. Hover, or arrow keys when it has the focus, show all values of a step; a hidden table has them for screen readers. */
export function Chart(props: ChartProps): ReactNode {
  const { label, startsMs, heightPx = 240 } = props;
  // While the figures are still coming.
  useEffect(() => void load().catch(() => {}), []);
  const place = <Skeleton height={`${heightPx}px`} />;
  return (
    <figure className={styles.chart} aria-label={label}>
      {startsMs === undefined ? (
        <>
          {place}
          <div className={styles.legend} />
        </>
      ) : (
        <>
          <Suspense
            fallback={
              <>
                {place}
                <div className={styles.legend} />
              </>
            }
          >
            <ChartCanvas {...props} startsMs={startsMs} heightPx={heightPx} />
          </Suspense>
          <ChartTable {...props} startsMs={startsMs} />
        </>
      )}
    </figure>
  );
}
