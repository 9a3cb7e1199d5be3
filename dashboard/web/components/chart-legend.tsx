import type { ReactNode } from 'react';
import styles from './chart.module.css';
import type { ChartProps } from './chart.tsx';
import { formatStep } from './chart-step.ts';
import { classNames } from './class-names.ts';

/** Colours of series in their order; what is left over is grey. */
export function seriesColour(index: number, isOther = false): string {
  return isOther ? '--series-other' : `--series-${(index % 8) + 1}`;
}

export interface ChartLegendProps extends Pick<ChartProps, 'series' | 'format' | 'step'> {
  readonly startsMs: readonly number[];
  /** The step that is looked at; absent: sums over all of them. */
  readonly at: number | undefined;
}

/** All series with their value at the step that is looked at. Always there, so that nothing moves when the pointer comes. */
export function ChartLegend({ series, startsMs, format, step, at }: ChartLegendProps): ReactNode {
  const startMs = at === undefined ? undefined : startsMs[at];
  const valueOf = (values: readonly number[]) =>
    format(at === undefined ? values.reduce((sum, value) => sum + value, 0) : (values[at] ?? 0));
  const all = series.map(({ values }) =>
    at === undefined ? values.reduce((sum, value) => sum + value, 0) : (values[at] ?? 0),
  );
  return (
    <figcaption className={styles.legend}>
      <span className={styles.when}>
        {startMs === undefined ? 'Total' : formatStep(startMs, step)}
        {series.length > 1 && <strong>{format(all.reduce((sum, value) => sum + value, 0))}</strong>}
      </span>
      {series.map(({ id, label, values, isOther }, index) => (
        <span key={id} className={styles.entry}>
          <span className={classNames(styles.swatch)} style={{ background: `var(${seriesColour(index, isOther)})` }} />
          {label}
          <strong>{valueOf(values)}</strong>
        </span>
      ))}
    </figcaption>
  );
}
