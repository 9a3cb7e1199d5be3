import type { ReactNode } from 'react';
import styles from './chart.module.css';
import { type ChartProps, type ChartSeries, formatStep, stepLengthMs, sumOf, valueText } from './chart-data.ts';

/** Longer names may be truncated. */
const LONG_NAME = 16;

/** Colours of the series in order. Grey for the sum of the others. */
export function seriesColour(index: number, isOther = false): string {
  return isOther ? '--series-other' : `--series-${(index % 8) + 1}`;
}

export interface ChartLegendProps
  extends Pick<ChartProps, 'kind' | 'series' | 'format' | 'step' | 'hidden' | 'onToggle'> {
  readonly startsMs: readonly number[];
  /**
   * The selected step. Absent: stacks show sums over all steps, lines the newest value, because
   * medians have no sum.
   */
  readonly at: number | undefined;
}

/**
 * All series with their value at the selected step. Always present, so that nothing moves under the
 * pointer.
 */
export function ChartLegend(props: ChartLegendProps): ReactNode {
  const { kind, series, startsMs, format, step, hidden, onToggle } = props;
  const at = props.at ?? (kind === 'lines' ? startsMs.length - 1 : undefined);
  const startMs = at === undefined ? undefined : startsMs[at];
  const figure = ({ values }: ChartSeries) => (at === undefined ? sumOf(values) : values[at]);
  const shown = series.filter(({ id }) => !hidden?.has(id));
  return (
    <figcaption className={styles.legend}>
      <span className={styles.when}>
        {startMs === undefined ? 'Total' : formatStep(startMs, step, stepLengthMs(startsMs, step))}
        {kind === 'stacked-bars' && series.length !== 1 && (
          <strong>{valueText(sumOf(shown.map(figure)), format)}</strong>
        )}
      </span>
      {series.map((one, index) => {
        const entry = (
          <>
            <span className={styles.swatch} style={{ background: `var(${seriesColour(index, one.isOther)})` }} />
            <span className={styles.name} data-hint={one.label.length > LONG_NAME ? one.label : undefined}>
              {one.label}
            </span>
            <strong>{valueText(figure(one), format)}</strong>
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
