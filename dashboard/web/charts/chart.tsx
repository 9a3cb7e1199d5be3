import { lazy, type ReactNode, Suspense, useEffect } from 'react';
import { Skeleton } from '../components/panels.tsx';
import styles from './chart.module.css';
import { type ChartProps, type DrawnChart, formatStep, valueText } from './chart-data.ts';

// uPlot and its CSS are a fifth of the page's code, so they are loaded on demand.
const load = () => import('./chart-canvas.tsx');
const ChartCanvas = lazy(() => load().then((module) => ({ default: module.ChartCanvas })));

/** Values over time. Pointer or arrow keys select a step. A hidden table serves screen readers. */
export function Chart(props: ChartProps): ReactNode {
  const { label, startsMs, heightPx = 240 } = props;
  // Loads the code while the figures are loading.
  useEffect(() => void load().catch(() => {}), []);
  const loading = (
    <>
      <Skeleton height={`${heightPx}px`} />
      <div className={styles.legend} />
    </>
  );
  return (
    <figure className={styles.chart} aria-label={label}>
      {startsMs === undefined ? (
        loading
      ) : (
        <>
          <Suspense fallback={loading}>
            <ChartCanvas {...props} startsMs={startsMs} heightPx={heightPx} />
          </Suspense>
          <ChartTable {...props} startsMs={startsMs} heightPx={heightPx} />
        </>
      )}
    </figure>
  );
}

/** The values of the chart for screen readers. */
function ChartTable({ label, startsMs, series, format, step }: DrawnChart): ReactNode {
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
              <th scope="row">{formatStep({ startsMs, step }, index)}</th>
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
