import { lazy, type ReactNode, Suspense, useEffect } from 'react';
import { Skeleton } from '../components/panels.tsx';
import styles from './chart.module.css';
import { type ChartProps, formatStep, stepLengthMs, valueText } from './chart-data.ts';

// uPlot and its CSS are a fifth of the page, so they are loaded on demand.
const load = () => import('./chart-canvas.tsx');
const ChartCanvas = lazy(() => load().then((module) => ({ default: module.ChartCanvas })));

/** Values over time. Pointer or arrow keys select a step; a hidden table serves screen readers. */
export function Chart(props: ChartProps): ReactNode {
  const { label, startsMs, heightPx = 240 } = props;
  // Preloads while the figures are loading.
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

/** The values of the chart for screen readers. */
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
                <td key={id}>{valueText(values[index], format)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
