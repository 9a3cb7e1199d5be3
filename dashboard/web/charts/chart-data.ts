import { DAY_MS, HOUR_MS } from '#core/clock.ts';
import { formatMinute, localDay } from '../format/format.ts';

export type ChartValue = number | undefined;

export interface ChartSeries {
  readonly id: string;
  readonly label: string;
  /** One value for each step. `undefined`: unknown, shown as a gap. */
  readonly values: readonly ChartValue[];
  /** True for the grey sum of all series without a line or bar of their own. */
  readonly isOther?: boolean;
  /** Position of its colour, for a series that always has the same one. */
  readonly colour?: number;
}

export interface ChartProps {
  /** Title of the chart, such as `Spend by model`. */
  readonly label: string;
  readonly kind: 'stacked-bars' | 'lines';
  /** Start of each step, ascending. Absent while loading: the chart keeps its space. */
  readonly startsMs: readonly number[] | undefined;
  /** The first series is at the bottom. At most 8, and one `isOther`. */
  readonly series: readonly ChartSeries[];
  /**
   * Formats a value, such as `formatDollars` or `formatCompact`. Labels of an axis pass its step,
   * because all of them get the decimals that the step needs.
   */
  readonly format: (value: number, axisStep?: number) => string;
  /** Unit of the steps. `day` steps are UTC days. */
  readonly step: 'hour' | 'day';
  readonly heightPx?: number;
  /** Values of an earlier range for the same steps, summed over all series. Drawn as a line. */
  readonly before?: readonly ChartValue[] | undefined;
  /** Ids of hidden series, and the action of a click in the legend. */
  readonly hidden?: ReadonlySet<string>;
  readonly onToggle?: (id: string) => void;
  /** Called with the range that a click or drag selects. The end is exclusive. */
  readonly onSpan?: ((fromMs: number, toMs: number) => void) | undefined;
}

/** A chart whose steps are loaded. */
export interface DrawnChart extends ChartProps {
  readonly startsMs: readonly number[];
  readonly heightPx: number;
}

const day = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric', weekday: 'short', timeZone: 'UTC' });

/** Length of a step in milliseconds. A step may have several hours. */
export function stepLengthMs(startsMs: readonly number[], step: 'hour' | 'day'): number {
  const [first, second] = startsMs;
  if (first === undefined || second === undefined) return step === 'hour' ? HOUR_MS : DAY_MS;
  return second - first;
}

/** `Nov 21, 14:00 – 15:00` in the reader's zone, or `Fri, Nov 21` for a UTC day. */
export function formatStep({ startsMs, step }: Pick<DrawnChart, 'startsMs' | 'step'>, at: number): string {
  const startMs = startsMs[at] ?? 0;
  if (step === 'day') return `${day.format(startMs)} UTC`;
  return `${localDay.format(startMs)}, ${formatMinute(startMs)} – ${formatMinute(startMs + stepLengthMs(startsMs, step))}`;
}

export function valueText(value: ChartValue, format: (value: number) => string): string {
  return value === undefined ? 'unknown' : format(value);
}

/** True for a series with only zeros, which the legend leaves out. */
export function isNothing({ values }: Pick<ChartSeries, 'values'>): boolean {
  return values.every((value) => value === 0);
}

/** The sum. Unknown if any value is. */
export function sumOf(values: readonly ChartValue[]): ChartValue {
  return values.reduce<ChartValue>(plus, 0);
}

export function plus(a: ChartValue, b: ChartValue): ChartValue {
  return a === undefined || b === undefined ? undefined : a + b;
}

/** Running sums of the series. The last has the full height. Unknown values have none. */
export function stack(series: readonly (readonly ChartValue[])[]): number[][] {
  let below: readonly number[] = [];
  return series.map((values) => {
    const sums = values.map((value, index) => (value ?? 0) + (below[index] ?? 0));
    below = sums;
    return sums;
  });
}
