import { type ReactNode, useMemo, useRef } from 'react';
import type { Overview, OverviewGroup } from '#contract/organization.ts';
import { Chart } from '../../charts/chart.tsx';
import { useHiddenSeries } from '../../charts/hidden-series.ts';
import { Card } from '../../components/card.tsx';
import { Count, Money } from '../../components/figures.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { dollars, formatDollars, formatMoney } from '../../format/format-money.ts';
import { formatCompact, formatCount } from '../../format/format-number.ts';
import { relativeChange } from './change.ts';
import { ChangeNote } from './change-note.tsx';
import styles from './overview.module.css';
import { inKnownOrder, type OverviewMeasure, seriesId, shownSeries } from './overview-series.ts';
import { RANGE_LABELS } from './overview-url.ts';

export interface OverviewChartsProps {
  /** Absent while loading. */
  readonly overview: Overview | undefined;
  readonly by: OverviewGroup;
}

/** Spend, requests and tokens over the same steps and series, with a shared cursor. */
export function OverviewCharts({ overview, by }: OverviewChartsProps): ReactNode {
  const order = useRef<readonly string[]>([]);
  const series = useMemo(() => inKnownOrder(overview?.series ?? [], order.current), [overview]);
  order.current = series.map(seriesId);
  const hiding = useHiddenSeries(order.current);
  const totals = overview?.totals;
  const before = overview?.before;
  const shared = { overview, series, by, ...hiding };
  return (
    <div className={styles.charts}>
      <div className={styles.wide}>
        <MeasureChart
          {...shared}
          title="Spend"
          measure="cost"
          format={formatDollars}
          now={totals && dollars(totals.costNanoUsd)}
          was={before && dollars(before.costNanoUsd)}
          wasText={before && formatMoney(before.costNanoUsd)}
          total={totals && <Money nanoUsd={totals.costNanoUsd} />}
        />
      </div>
      <MeasureChart
        {...shared}
        title="Requests"
        measure="requests"
        format={formatCompact}
        now={totals?.requests}
        was={before?.requests}
        wasText={before && formatCount(before.requests)}
        total={totals && <Count value={totals.requests} />}
      />
      <MeasureChart
        {...shared}
        title="Tokens"
        measure="tokens"
        format={formatCompact}
        now={totals && tokens(totals)}
        was={before && tokens(before)}
        wasText={before && formatCount(tokens(before))}
        total={totals && <Count value={tokens(totals)} />}
      />
    </div>
  );
}

function tokens({ promptTokens, completionTokens }: Overview['totals']): number {
  return promptTokens + completionTokens;
}

interface MeasureChartProps extends OverviewChartsProps {
  readonly title: string;
  readonly measure: OverviewMeasure;
  readonly series: Overview['series'];
  readonly hidden: ReadonlySet<string>;
  readonly onToggle: (id: string) => void;
  readonly format: (value: number) => string;
  readonly now: number | undefined;
  readonly was: number | undefined;
  readonly wasText: string | undefined;
  readonly total: ReactNode;
}

function MeasureChart(props: MeasureChartProps): ReactNode {
  const { overview, title, by, series, measure, hidden, onToggle, format } = props;
  const shown = useMemo(() => shownSeries(series, measure), [series, measure]);
  return (
    <Card title={title}>
      <p className={styles.figure}>
        <span className={styles.total}>{props.total ?? <Skeleton width="120px" />}</span>
        {overview && (
          <ChangeNote
            change={relativeChange(props.now, props.was)}
            before={RANGE_LABELS[overview.range]}
            {...(props.wasText !== undefined && { was: props.wasText })}
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
