import { type ReactNode, useMemo, useRef } from 'react';
import type { Explore } from '#contract/explore.ts';
import type { ExploreState, Measure, Span } from '#contract/explore-search.ts';
import { DAY_MS } from '#core/clock.ts';
import { Chart } from '../charts/chart.tsx';
import { useHiddenSeries } from '../charts/hidden-series.ts';
import { classNames } from '../components/class-names.ts';
import { Banner, Card, Skeleton, Stale, UnlessFailed } from '../components/panels.tsx';
import { Count, Instant, Money } from '../components/values.tsx';
import { formatPercent } from '../format/format.ts';
import type { Url } from '../search/use-url.ts';
import { type Change, pointChange, relativeChange } from './change.ts';
import styles from './explore.module.css';
import { chartSeries, inKnownOrder, MEASURE_VIEWS, shareOf, shownMeasures, stepValues } from './explore-figures.ts';
import type { ExploreQuery } from './use-explore.ts';

interface ExplorerProps {
  readonly query: Pick<ExploreQuery, 'data' | 'error' | 'refetch' | 'isPlaceholderData'>;
  readonly url: Url<ExploreState>;
  /** The measure that is shown if the address has none. */
  readonly usual: Measure;
  readonly onSpan: (span: Span) => void;
  readonly heightPx?: number;
  /** Shown to the right of the chart's title. */
  readonly actions?: ReactNode;
}

/** Totals of all measures, and a chart of the chosen measure by group. */
export function Explorer({ query, url, usual, onSpan, heightPx = 260, actions }: ExplorerProps): ReactNode {
  const { show = usual, compare } = url.search;
  const measure = MEASURE_VIEWS[show];
  const { data } = query;
  const { by = 'none' } = data ?? {};
  const known = useRef<readonly string[]>([]);
  const unnamed = by === 'none' ? measure.label : 'None';
  const series = useMemo(
    () => (data ? inKnownOrder(chartSeries(data, measure, unnamed), known.current) : []),
    [data, measure, unnamed],
  );
  known.current = series.map(({ id }) => id);
  const hiding = useHiddenSeries(known.current);
  const before = useMemo(
    () => (compare && data?.before ? stepValues(data.before.steps, measure) : undefined),
    [compare, data, measure],
  );
  return (
    <UnlessFailed query={query}>
      <Stale isStale={query.isPlaceholderData}>
        <Tiles
          tiles={shownMeasures(data?.totals).map((id) => ({
            ...{ id, label: MEASURE_VIEWS[id].label },
            ...(data && {
              figure: <Figure totals={data.totals} measure={id} />,
              note: <Note data={data} measure={id} />,
            }),
          }))}
          chosen={show}
          onChoose={(next) => url.change({ show: next === usual ? undefined : next })}
        />
        {data?.chargedOnly && (
          <Banner tone="neutral">
            By end user, a range this long has only charged requests, by day. Errors and times are unknown.
          </Banner>
        )}
        {data?.partial && (
          <Banner tone="warn" title="Not every request could be read">
            Figures are complete since <Instant atMs={data.partial.completeFromMs} />. Choose a shorter time.
          </Banner>
        )}
        <Card title={measure.label} actions={actions}>
          <Chart
            label={`${measure.label}${by === 'none' ? '' : ` by ${by}`}`}
            kind={measure.kind}
            startsMs={data?.stepStartsMs}
            series={series}
            before={before}
            format={measure.format}
            step={data?.stepMs === DAY_MS ? 'day' : 'hour'}
            heightPx={heightPx}
            onSpan={(fromMs, toMs) => onSpan({ fromMs, toMs })}
            {...hiding}
          />
        </Card>
      </Stale>
    </UnlessFailed>
  );
}

interface TilesProps<Name extends string> {
  /** A tile has no figure while loading. */
  readonly tiles: readonly {
    readonly id: Name;
    readonly label: string;
    readonly figure?: ReactNode;
    readonly note?: ReactNode;
  }[];
  readonly chosen: Name;
  readonly onChoose: (name: Name) => void;
}

/** The totals. Each is a button that shows its chart. */
export function Tiles<Name extends string>({ tiles, chosen, onChoose }: TilesProps<Name>): ReactNode {
  return (
    <fieldset className={styles.tiles}>
      <legend className="visually-hidden">Show</legend>
      {tiles.map(({ id, label, figure, note }) => (
        <button
          key={id}
          type="button"
          className={classNames(styles.tile, id === chosen && styles.chosen)}
          aria-pressed={id === chosen}
          onClick={() => onChoose(id)}
        >
          <span className="muted small">{label}</span>
          <span className={styles.value}>{figure ?? <Skeleton width="60%" />}</span>
          <span className="muted small">{note ?? '\u00a0'}</span>
        </button>
      ))}
    </fieldset>
  );
}

export function Figure({
  totals,
  measure,
}: {
  readonly totals: Explore['totals'];
  readonly measure: Measure;
}): ReactNode {
  const { of, format } = MEASURE_VIEWS[measure];
  const value = of(totals);
  if (measure === 'cost') return <Money nanoUsd={totals.costNanoUsd} />;
  if (value === undefined) return <span className="muted">–</span>;
  return measure === 'requests' || measure === 'tokens' ? <Count value={value} /> : format(value);
}

function Note({ data: { totals, before }, measure }: { readonly data: Explore; readonly measure: Measure }): ReactNode {
  const { of, format, upIsBad = false } = MEASURE_VIEWS[measure];
  const [now, was] = [of(totals), before && of(before.totals)];
  const change = measure === 'cached' ? pointChange(now, was) : relativeChange(now, was);
  const share =
    measure === 'failures'
      ? shareOf(totals.failures, totals.requests)
      : measure === 'margin'
        ? shareOf(Number(totals.knownRevenueNanoUsd), Number(totals.costNanoUsd))
        : undefined;
  return (
    <>
      {share !== undefined && `${measure === 'margin' ? 'known for ' : ''}${formatPercent(share)}`}
      {share !== undefined && change && ' · '}
      <ChangeNote change={change} was={was === undefined ? undefined : format(was)} upIsBad={upIsBad} />
    </>
  );
}

interface ChangeNoteProps {
  readonly change: Change | undefined;
  /** The previous figure, for the tooltip. */
  readonly was: string | undefined;
  /** True if an increase is bad: errors, latency. */
  readonly upIsBad: boolean;
}

const ARROWS = { up: '↑', down: '↓', same: '±' } as const;
const WORDS = { up: ' more than', down: ' less than', same: ' change against' } as const;

/** `↑ 12%`, with words for screen readers. */
function ChangeNote({ change, was, upIsBad }: ChangeNoteProps): ReactNode {
  if (change === undefined) return null;
  const tone = upIsBad && change.isNotable && (change.direction === 'up' ? 'bad' : 'good');
  return (
    <span className={tone || 'muted'} data-hint={was && `${was} in the preceding period`}>
      <span aria-hidden="true">{ARROWS[change.direction]} </span>
      {change.amount}
      <span className="visually-hidden">{WORDS[change.direction]} in the preceding period</span>
    </span>
  );
}
