import { type ChartValue, plus, sumOf } from './chart-data.ts';

/** A series of a chart by days, with a value for each day. */
export interface DailySeries {
  readonly id: string;
  readonly label: string;
  readonly values: readonly ChartValue[];
}

/** A value of one day. Several of one day and series are summed up. */
export interface DailyValue {
  readonly day: string | undefined;
  readonly id: string;
  readonly label: string;
  readonly value: ChartValue;
  /** Orders the series, whatever the chart measures, so that colours stay. */
  readonly weight: bigint;
}

/** Number of distinguishable colours. */
export const MAX_SERIES = 8;
export const OTHERS = 'others';

/**
 * Series over days, the heaviest first, the rest as one sum. Missing days are zero; days outside
 * the axis are left out.
 */
export function dailySeries(values: readonly DailyValue[], days: readonly string[]): readonly DailySeries[] {
  const places = new Map(days.map((day, place) => [day, place]));
  const found = new Map<string, Found>();
  for (const { day, id, label, value, weight } of values) {
    const place = places.get(day ?? '');
    if (place === undefined) continue;
    const series = found.get(id) ?? { id, label, values: days.map((): ChartValue => 0), weight: 0n };
    found.set(id, series);
    series.values[place] = plus(series.values[place], value);
    series.weight += weight;
  }
  const sorted = [...found.values()]
    .sort((a, b) => Number(b.weight - a.weight) || total(b) - total(a) || (a.label < b.label ? -1 : 1))
    .map(({ id, label, values }): DailySeries => ({ id, label, values }));
  if (sorted.length <= MAX_SERIES) return sorted;
  const rest = sorted.slice(MAX_SERIES);
  const sums = days.map((_, place) => sumOf(rest.map(({ values }) => values[place])));
  return [...sorted.slice(0, MAX_SERIES), { id: OTHERS, label: `${rest.length} others`, values: sums }];
}

interface Found extends DailySeries {
  readonly values: ChartValue[];
  weight: bigint;
}

function total({ values }: Found): number {
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
}
