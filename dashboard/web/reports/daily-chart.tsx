import { type ReactNode, useMemo } from 'react';
import { Chart } from '../charts/chart.tsx';
import type { ChartProps } from '../charts/chart-data.ts';
import { type DailySeries, OTHERS } from '../charts/daily-series.ts';
import { useHiddenSeries } from '../charts/hidden-series.ts';
import { Banner, Card, EmptyState, type Query, UnlessFailed } from '../components/panels.tsx';
import { utcDay } from '../format/format.ts';
import { SegmentedControl } from '../forms/choices.tsx';
import { type Days, type DaysUrl, daysBetween, daysOf } from '../search/days.ts';

/** Today in UTC, and the chosen days, which change at midnight only. */
export function useReportDays({ range, from, to }: DaysUrl): { readonly today: string; readonly days: Days } {
  const today = utcDay(Date.now());
  const days = useMemo(() => daysOf({ range, from, to }, Date.parse(`${today}T00:00:00Z`)), [range, from, to, today]);
  return { today, days };
}

/** `order`: which rows are kept: `the largest revenue`. */
export function CutBanner({ order }: { readonly order: string }): ReactNode {
  return (
    <Banner tone="neutral" title="The table is cut">
      There are more rows than fit here: the newest, or those of {order}, are shown and sorted. The total counts all of
      them, and the CSV has them.
    </Banner>
  );
}

export interface DailyChartProps<Row, Measure extends string> extends Pick<ChartProps, 'kind' | 'format'> {
  readonly days: Days;
  readonly measures: Readonly<Record<Measure, string>>;
  readonly show: Measure;
  readonly onShow: (measure: Measure) => void;
  /** Rows by day and group. */
  readonly detailed: Query<{ readonly rows: readonly Row[]; readonly cut: boolean }>;
  /** Rows by day alone, asked for if the others are cut. These never are. */
  readonly daily: Query<{ readonly rows: readonly Row[]; readonly cut: boolean }>;
  /** What the series are: `model`, `key`. */
  readonly groups: readonly string[];
  readonly seriesOf: (rows: readonly Row[], axis: readonly string[], measure: Measure) => readonly DailySeries[];
  /** Instead of a chart without series. */
  readonly empty?: string | false;
  /** Notes below the chart. */
  readonly children?: ReactNode;
}

/** One measure by day. Cut rows would leave out days, so days alone replace them. */
export function DailyChart<Row, Measure extends string>(props: DailyChartProps<Row, Measure>): ReactNode {
  const { days, measures, show, groups, seriesOf } = props;
  const tooMany = props.detailed.data?.cut === true;
  const query = tooMany ? props.daily : props.detailed;
  const { data } = query;
  const axis = useMemo(() => daysBetween(days), [days]);
  const startsMs = useMemo(() => axis.map((day) => Date.parse(`${day}T00:00:00Z`)), [axis]);
  const series = useMemo(
    () => seriesOf(data?.rows ?? [], axis, show).map((one) => ({ ...one, isOther: one.id === OTHERS })),
    [seriesOf, data, axis, show],
  );
  const hiding = useHiddenSeries(series.map(({ id }) => id));
  return (
    <Card
      title={`${measures[show]} by day`}
      actions={<SegmentedControl label="Show" value={show} onChange={props.onShow} choices={measures} />}
    >
      <UnlessFailed query={query}>
        {series.length === 0 && props.empty ? (
          <EmptyState icon="usage" title={props.empty} />
        ) : (
          <Chart
            label={`${measures[show]} by day${tooMany ? '' : groups.map((group) => ` and ${group}`).join('')}`}
            kind={props.kind}
            startsMs={data && startsMs}
            series={series}
            format={props.format}
            step="day"
            {...hiding}
          />
        )}
        {props.children}
        {tooMany && (
          <p className="muted small">
            Too many {groups.join('s and ')}s over too many days to tell them apart: all of them together.
          </p>
        )}
      </UnlessFailed>
    </Card>
  );
}
