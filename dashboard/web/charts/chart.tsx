import { lazy, type ReactNode, Suspense, useEffect } from 'react';
import { Skeleton } from '../components/skeleton.tsx';
import styles from './chart.module.css';
import type { ChartProps } from './chart-data.ts';
import { ChartTable } from './chart-table.tsx';

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
