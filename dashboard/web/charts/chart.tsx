import { lazy, type ReactNode, Suspense, useEffect } from 'react';
import { Skeleton } from '../components/skeleton.tsx';
import styles from './chart.module.css';
import { type ChartProps, formatStep, stepLengthMs } from './chart-data.ts';

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

/** What the canvas shows, for those who do not see it. */
export function ChartTable({ label, startsMs = [], series, format, step }: ChartProps): ReactNode {
  const stepMs = stepLengthMs(startsMs, step);
  return (
    <div className="visually-hidden">
      <table>
        <caption>{label}</caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            {series.map(({ id, label: name }) => (
              <th key={id} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {startsMs.map((startMs, index) => (
            <tr key={startMs}>
              <th scope="row">{formatStep(startMs, step, stepMs)}</th>
              {series.map(({ id, values }) => (
                <td key={id}>{format(values[index] ?? 0)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
