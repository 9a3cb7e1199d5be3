import { type ReactNode, useMemo } from 'react';
import { useAsk } from '../../api/use-ask.ts';
import { Chart } from '../../charts/chart.tsx';
import { OTHERS } from '../../charts/daily-series.ts';
import { useHiddenSeries } from '../../charts/hidden-series.ts';
import { Card } from '../../components/card.tsx';
import { EmptyState, UnlessFailed } from '../../components/states.tsx';
import { formatDollars } from '../../format/format-money.ts';
import { SegmentedControl } from '../../forms/choices.tsx';
import { type Days, daysBetween } from '../../search/days.ts';
import { amountOf, costSeries } from './cost-rows.ts';
import styles from './costs.module.css';
import type { CostsUrlState, Measure } from './costs-url.ts';

export interface CostsChartProps {
  readonly search: CostsUrlState;
  readonly days: Days;
  readonly onSearch: (search: CostsUrlState) => void;
}

const MEASURES: readonly { readonly value: Measure; readonly label: string }[] = [
  { value: 'revenue', label: 'Revenue' },
  { value: 'cost', label: 'Cost' },
  { value: 'margin', label: 'Margin' },
  { value: 'losses', label: 'Losses' },
  { value: 'list', label: 'List price' },
];

/** One measure by day. A margin may be negative, so it has lines; others are stacked. */
export function CostsChart({ search, days, onSearch }: CostsChartProps): ReactNode {
  const { show = 'revenue', by = 'model' } = search;
  const detailed = useAsk('GET /api/costs', { query: { ...days, by: `day,${by}` } }, { keepPrevious: true });
  // Cut rows would leave out days. Days alone are never cut.
  const tooMany = detailed.data?.cut === true;
  const daily = useAsk('GET /api/costs', { query: { ...days, by: 'day' } }, { enabled: tooMany, keepPrevious: true });
  const costs = tooMany ? daily : detailed;
  const { data } = costs;

  const axis = useMemo(() => daysBetween(days), [days]);
  const startsMs = useMemo(() => axis.map((day) => Date.parse(`${day}T00:00:00Z`)), [axis]);
  const series = useMemo(
    () => costSeries(data?.rows ?? [], axis, show).map((one) => ({ ...one, isOther: one.id === OTHERS })),
    [data, axis, show],
  );
  const hiding = useHiddenSeries(series.map(({ id }) => id));
  const unknown = data?.rows.filter((row) => amountOf(row, show) === undefined).length ?? 0;
  const title = MEASURES.find(({ value }) => value === show)?.label ?? '';
  return (
    <Card
      title={`${title} by day`}
      actions={
        <SegmentedControl
          label="Show"
          value={show}
          onChange={(next) => onSearch(withMeasure(search, next))}
          choices={MEASURES}
        />
      }
    >
      <UnlessFailed query={costs}>
        {series.length === 0 && unknown > 0 ? (
          <EmptyState icon="usage" title="No cost is known in these days" />
        ) : (
          <Chart
            label={`${title} by day${tooMany ? '' : ` and ${by}`}`}
            kind={show === 'margin' ? 'lines' : 'stacked-bars'}
            startsMs={data && startsMs}
            series={series}
            format={formatDollars}
            step="day"
            {...hiding}
          />
        )}
        {unknown > 0 && (
          <p className={styles.note}>
            A gap is a day whose cost is not known, not zero: a target that served requests then has no{' '}
            <code>cost_usd_per_million_tokens</code>. The chart leaves out what has no day with a known cost.
          </p>
        )}
        {tooMany && (
          <p className={styles.note}>Too many {by}s over too many days to tell them apart: all of them together.</p>
        )}
      </UnlessFailed>
    </Card>
  );
}

/** The default is left out of the URL. */
function withMeasure({ show: _, ...rest }: CostsUrlState, measure: Measure): CostsUrlState {
  return measure === 'revenue' ? rest : { ...rest, show: measure };
}
