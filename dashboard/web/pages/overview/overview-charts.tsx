import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo, useRef } from 'react';
import type { Overview, OverviewGroup } from '#contract/organization.ts';
import { Chart } from '../../charts/chart.tsx';
import { useHiddenSeries } from '../../charts/hidden-series.ts';
import { Card, Skeleton } from '../../components/panels.tsx';
import { Count, Money } from '../../components/values.tsx';
import { dollars, formatCompact, formatCount, formatDollars, formatMoney, formatPercent } from '../../format/format.ts';
import { RANGE_LABELS, relativeChange } from './change.ts';
import styles from './overview.module.css';
import { inKnownOrder, type OverviewMeasure, seriesId, shownSeries } from './overview-series.ts';
import { ChangeNote } from './overview-stats.tsx';

interface OverviewChartsProps {
  /** Absent while loading. */
  readonly overview: Overview | undefined;
  readonly by: OverviewGroup;
}

interface Measure {
  readonly id: OverviewMeasure;
  readonly title: string;
  readonly format: (value: number) => string;
  readonly of: (totals: Overview['totals']) => number;
  /** The former figure in words. */
  readonly text: (totals: Overview['totals']) => string;
  readonly Figure: (props: { readonly totals: Overview['totals'] }) => ReactNode;
}

const SPEND: Measure = {
  id: 'cost',
  title: 'Spend',
  format: formatDollars,
  of: ({ costNanoUsd }) => dollars(costNanoUsd),
  text: ({ costNanoUsd }) => formatMoney(costNanoUsd),
  Figure: ({ totals }) => <Money nanoUsd={totals.costNanoUsd} />,
};
const REQUESTS = counted('requests', 'Requests', ({ requests }) => requests);
const TOKENS = counted('tokens', 'Tokens', (totals) => totals.promptTokens + totals.completionTokens);

function counted(id: OverviewMeasure, title: string, of: Measure['of']): Measure {
  const Figure: Measure['Figure'] = ({ totals }) => <Count value={of(totals)} />;
  return { id, title, format: formatCompact, of, text: (totals) => formatCount(of(totals)), Figure };
}

/** Spend, requests and tokens over the same steps and series, with a shared cursor. */
export function OverviewCharts({ overview, by }: OverviewChartsProps): ReactNode {
  const order = useRef<readonly string[]>([]);
  const series = useMemo(() => inKnownOrder(overview?.series ?? [], order.current), [overview]);
  order.current = series.map(seriesId);
  const hiding = useHiddenSeries(order.current);
  const shared = { overview, series, by, ...hiding };
  return (
    <div className={styles.charts}>
      <div className={styles.wide}>
        <MeasureChart {...shared} measure={SPEND} />
      </div>
      <MeasureChart {...shared} measure={REQUESTS} />
      <MeasureChart {...shared} measure={TOKENS} />
    </div>
  );
}

interface MeasureChartProps extends OverviewChartsProps, ReturnType<typeof useHiddenSeries> {
  readonly measure: Measure;
  readonly series: Overview['series'];
}

function MeasureChart({ overview, by, series, measure, hidden, onToggle }: MeasureChartProps): ReactNode {
  const { id, title, format, of, text, Figure } = measure;
  const shown = useMemo(() => shownSeries(series, id), [series, id]);
  return (
    <Card title={title}>
      <p className={styles.figure}>
        <span className={styles.total}>
          {overview ? <Figure totals={overview.totals} /> : <Skeleton width="120px" />}
        </span>
        {overview && (
          <ChangeNote
            change={relativeChange(of(overview.totals), of(overview.before))}
            before={RANGE_LABELS[overview.range]}
            was={text(overview.before)}
          />
        )}
      </p>
      <Chart
        label={`${title} by ${by}`}
        kind="stacked-bars"
        startsMs={overview?.stepStartsMs}
        series={shown}
        format={format}
        step={overview?.range === '30d' ? 'day' : 'hour'}
        syncKey="overview"
        hidden={hidden}
        onToggle={onToggle}
      />
    </Card>
  );
}

/** The most frequent errors, with links to their requests. */
export function FailureCodes({
  overview,
  organization,
}: {
  readonly overview: Overview;
  readonly organization: string;
}): ReactNode {
  const { totals, range, stepStartsMs } = overview;
  if (totals.failureCodes.length === 0) return null;
  const others = totals.failures - totals.failureCodes.reduce((sum, { requests }) => sum + requests, 0);
  return (
    <Card title="Most frequent errors">
      <ol className={styles.codes}>
        {totals.failureCodes.map(({ code, requests }) => (
          <li key={code} className={styles.row}>
            <Link
              to="/o/$organization/requests"
              params={{ organization }}
              search={{ code, fromMs: stepStartsMs[0] }}
              className={styles.code}
            >
              <code>{code}</code>
              <span className="visually-hidden">: show the requests of the last {RANGE_LABELS[range]}</span>
            </Link>
            <Count value={requests} />
            <span className={styles.share}>{formatPercent(requests / totals.requests)}</span>
          </li>
        ))}
        {others > 0 && (
          <li className={styles.row}>
            <span className={styles.code}>Other codes</span>
            <Count value={others} />
            <span className={styles.share}>{formatPercent(others / totals.requests)}</span>
          </li>
        )}
      </ol>
    </Card>
  );
}
