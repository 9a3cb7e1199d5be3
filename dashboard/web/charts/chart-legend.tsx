import type { ReactNode } from 'react';
import styles from './chart.module.css';
import { type ChartProps, type ChartSeries, isNothing, sumOf, valueText } from './chart-data.ts';

/** Longer names may be truncated. */
const LONG_NAME = 16;

/** Colours of the series in order. Grey for the sum of the others. */
export function seriesColour({ isOther, colour }: ChartSeries, index: number): string {
  return isOther ? '--series-other' : `--series-${((colour ?? index) % 8) + 1}`;
}

type ChartLegendProps = Pick<ChartProps, 'kind' | 'series' | 'format' | 'hidden' | 'onToggle'>;

/** All series with values, and their sums. Lines have no sums, because they may be medians. */
export function ChartLegend({ kind, series, format, hidden, onToggle }: ChartLegendProps): ReactNode {
  return (
    <figcaption className={styles.legend}>
      {series.map((one, index) => {
        if (isNothing(one)) return null;
        const entry = (
          <>
            <Swatch of={one} index={index} />
            <span className={styles.name} data-hint={one.label.length > LONG_NAME ? one.label : undefined}>
              {one.label}
            </span>
            {kind === 'stacked-bars' && <strong>{valueText(sumOf(one.values), format)}</strong>}
          </>
        );
        if (onToggle === undefined || series.length === 1) {
          return (
            <span key={one.id} className={styles.entry}>
              {entry}
            </span>
          );
        }
        return (
          <button
            key={one.id}
            type="button"
            className={styles.entry}
            aria-pressed={!hidden?.has(one.id)}
            onClick={() => onToggle(one.id)}
          >
            {entry}
          </button>
        );
      })}
    </figcaption>
  );
}

export function Swatch({ of: series, index }: { readonly of: ChartSeries; readonly index: number }): ReactNode {
  return <span className={styles.swatch} style={{ background: `var(${seriesColour(series, index)})` }} />;
}
