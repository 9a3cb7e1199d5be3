import { type ReactNode, useMemo } from 'react';
import { useAsk } from '../../api/use-ask.ts';
import { Chart } from '../../charts/chart.tsx';
import { OTHERS } from '../../charts/daily-series.ts';
import { useHiddenSeries } from '../../charts/hidden-series.ts';
import { Card } from '../../components/card.tsx';
import { UnlessFailed } from '../../components/states.tsx';
import { formatDollars } from '../../format/format-money.ts';
import { formatCompact } from '../../format/format-number.ts';
import { SegmentedControl } from '../../forms/choices.tsx';
import { type Days, daysBetween } from '../../search/days.ts';
import styles from './usage.module.css';
import { usageSeries } from './usage-series.ts';
import { chosenGroups, type Measure, type UsageUrlState } from './usage-url.ts';

export interface UsageChartProps {
  readonly organization: string;
  readonly search: UsageUrlState;
  readonly days: Days;
  readonly onSearch: (search: UsageUrlState) => void;
}

const MEASURES: readonly { readonly value: Measure; readonly label: string }[] = [
  { value: 'cost', label: 'Spend' },
  { value: 'requests', label: 'Requests' },
  { value: 'tokens', label: 'Tokens' },
];
const REFRESH_MS = 60_000;

/** Usage by day, whatever the groups of the table. Series are models or keys. */
export function UsageChart({ organization, search, days, onSearch }: UsageChartProps): ReactNode {
  const { show = 'cost', key, model } = search;
  const others = chosenGroups(search).filter((group) => group !== 'day');
  const params = { organization };
  const options = { refreshMs: REFRESH_MS, keepPrevious: true };
  const input = (by: string) => ({ params, query: { ...days, by, key, model } });
  const endpoint = 'GET /api/organizations/:organization/usage';
  const detailed = useAsk(endpoint, input(['day', ...others].join(',')), options);
  // Cut rows would leave out days. Days alone are never cut.
  const tooMany = detailed.data?.cut === true;
  const daily = useAsk(endpoint, input('day'), { ...options, enabled: tooMany });
  const usage = tooMany ? daily : detailed;
  const { data } = usage;

  const axis = useMemo(() => daysBetween(days), [days]);
  const startsMs = useMemo(() => axis.map((day) => Date.parse(`${day}T00:00:00Z`)), [axis]);
  const series = useMemo(
    () => usageSeries(data?.rows ?? [], axis, show).map((one) => ({ ...one, isOther: one.id === OTHERS })),
    [data, axis, show],
  );
  const hiding = useHiddenSeries(series.map(({ id }) => id));
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
      <UnlessFailed query={usage}>
        <Chart
          label={`${title} by day${tooMany ? '' : others.map((group) => ` and ${group}`).join('')}`}
          kind="stacked-bars"
          startsMs={data && startsMs}
          series={series}
          format={show === 'cost' ? formatDollars : formatCompact}
          step="day"
          {...hiding}
        />
        {tooMany && (
          <p className={styles.note}>
            Too many {others.join('s and ')}s over too many days to tell them apart: all of them together.
          </p>
        )}
      </UnlessFailed>
    </Card>
  );
}

/** The default is left out of the URL. */
function withMeasure({ show: _, ...rest }: UsageUrlState, measure: Measure): UsageUrlState {
  return measure === 'cost' ? rest : { ...rest, show: measure };
}
