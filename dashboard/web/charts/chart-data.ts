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

const hour = new Intl.DateTimeFormat('en-US', {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});
const day = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric', weekday: 'short', timeZone: 'UTC' });

const time = new Intl.DateTimeFormat('en-US', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** How long the steps are: there may be several hours in one. */
export function stepLengthMs(startsMs: readonly number[], step: 'hour' | 'day'): number {
  const [first, second] = startsMs;
  if (first === undefined || second === undefined) return step === 'hour' ? HOUR_MS : DAY_MS;
  return second - first;
}

/** `Nov 21, 14:00 – 15:00` in the reader's zone, or `Fri, Nov 21` of UTC, which is what daily figures are kept by. */
export function formatStep(startMs: number, step: 'hour' | 'day', lengthMs: number): string {
  if (step === 'day') return `${day.format(startMs)} UTC`;
  return `${hour.format(startMs)} – ${time.format(startMs + lengthMs)}`;
}

/** Running sums over the series, first at the bottom: the last has the whole height of each step. */
export function stack(series: readonly (readonly number[])[]): number[][] {
  let below: readonly number[] = [];
  return series.map((values) => {
    const sums = values.map((value, index) => value + (below[index] ?? 0));
    below = sums;
    return sums;
  });
}
