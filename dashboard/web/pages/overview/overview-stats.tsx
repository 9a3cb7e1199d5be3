import { type ReactNode, useEffect, useState } from 'react';
import type { OrganizationView, Overview } from '#contract/organization.ts';
import { Stat, StatRow } from '../../components/panels.tsx';
import { Count, Duration, Money, ProgressBar } from '../../components/values.tsx';
import { formatCount, formatDuration, formatMoney, formatPercent } from '../../format/format.ts';
import { BalanceEnd } from '../../organizations/balance-end.tsx';
import { availableNanoUsd } from '../../organizations/balance-warning.ts';
import { type Change, errorRate, pointChange, RANGE_LABELS, relativeChange } from './change.ts';
import { dayBudget, nextResetMs } from './day-budget.ts';
import styles from './overview.module.css';

interface OverviewStatsProps {
  readonly organization: OrganizationView | undefined;
  readonly overview: Overview | undefined;
}

/** Present balance and spend, then figures of the range. */
export function OverviewStats({ organization, overview }: OverviewStatsProps): ReactNode {
  return (
    <StatRow>
      <Stat
        label="Available balance"
        value={organization && <Money nanoUsd={availableNanoUsd(organization).toString()} />}
        note={
          organization && (
            <BalanceEnd
              organization={organization}
              otherwise={
                <>
                  <Money nanoUsd={organization.heldNanoUsd} /> held
                </>
              }
            />
          )
        }
      />
      <Stat
        label="Spent today"
        value={organization && <Money nanoUsd={organization.spentTodayNanoUsd} />}
        note={<SpentToday organization={organization} />}
      />
      <Stat
        label="Requests"
        value={overview && <Count value={overview.totals.requests} />}
        note={overview && <RequestsNote {...overview} />}
      />
      <Stat
        label="Error rate"
        value={overview && <Rate rate={errorRate(overview.totals)} />}
        note={overview && <ErrorsNote {...overview} />}
      />
      <Stat
        label="Time to first token"
        value={overview && <Waiting milliseconds={overview.totals.firstEventP50Ms} />}
        note={overview && <WaitingNote {...overview} />}
      />
    </StatRow>
  );
}

function RequestsNote({ totals, before, range }: Overview): ReactNode {
  return (
    <ChangeNote
      change={relativeChange(totals.requests, before.requests)}
      before={RANGE_LABELS[range]}
      was={formatCount(before.requests)}
    />
  );
}

function Rate({ rate }: { readonly rate: number | undefined }): ReactNode {
  return rate === undefined ? '–' : formatPercent(rate);
}

function ErrorsNote({ totals, before, range }: Overview): ReactNode {
  const was = errorRate(before);
  return (
    <ChangeNote
      change={pointChange(errorRate(totals), was)}
      before={RANGE_LABELS[range]}
      {...(was !== undefined && { was: formatPercent(was) })}
      upIsBad
    />
  );
}

function Waiting({ milliseconds }: { readonly milliseconds: number | undefined }): ReactNode {
  return milliseconds === undefined ? '–' : <Duration milliseconds={milliseconds} />;
}

function WaitingNote({ totals, before, range }: Overview): ReactNode {
  const { firstEventP50Ms, firstEventP95Ms } = totals;
  if (firstEventP50Ms === undefined || firstEventP95Ms === undefined) return 'No completion yet';
  const was = before.firstEventP50Ms;
  return (
    <>
      <span data-hint="Half of all completions began within the time above, 95 of 100 within this one">
        p95 {formatDuration(firstEventP95Ms)}
      </span>
      {' · '}
      <ChangeNote
        change={relativeChange(firstEventP50Ms, was)}
        before={RANGE_LABELS[range]}
        {...(was !== undefined && { was: formatDuration(was) })}
        upIsBad
      />
    </>
  );
}

const clock = new Intl.DateTimeFormat('en-US', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

/** The day of a budget ends at midnight UTC, so its end is shown in the reader's zone. */
function SpentToday({ organization }: { readonly organization: OrganizationView | undefined }): ReactNode {
  return <div className={styles.room}>{organization && <Budget {...organization} />}</div>;
}

function Budget({ spentTodayNanoUsd, limits }: OrganizationView): ReactNode {
  const resetMs = useNextReset();
  const hint = `The day ends at 00:00 UTC, which is ${clock.format(resetMs)} in your zone`;
  if (limits.dailyBudgetNanoUsd === undefined) return <span data-hint={hint}>No daily budget</span>;
  const budget = dayBudget(spentTodayNanoUsd, limits.dailyBudgetNanoUsd);
  return (
    <>
      of <Money nanoUsd={budget.budgetNanoUsd} /> ·{' '}
      <span data-hint={hint}>
        resets {clock.format(resetMs)}
        <span className="visually-hidden"> in your zone, 00:00 UTC</span>
      </span>
      <div className={styles.bar}>
        <ProgressBar
          label="Spent today of the daily budget"
          fraction={budget.fraction}
          text={`${formatMoney(budget.spentNanoUsd)} of ${formatMoney(budget.budgetNanoUsd)}, ${formatMoney(budget.leftNanoUsd)} left`}
        />
      </div>
    </>
  );
}

function useNextReset(): number {
  const [resetMs, setResetMs] = useState(() => nextResetMs(Date.now()));
  useEffect(() => {
    const timer = setTimeout(() => setResetMs(nextResetMs(Date.now())), resetMs - Date.now() + 1);
    return () => clearTimeout(timer);
  }, [resetMs]);
  return resetMs;
}

interface ChangeNoteProps {
  readonly change: Change | undefined;
  /** `24 hours` */
  readonly before: string;
  /** The previous figure, for the tooltip. */
  readonly was?: string;
  /** True if an increase is bad: errors, latency. */
  readonly upIsBad?: boolean;
}

const ARROWS = { up: '↑', down: '↓', same: '' } as const;
const WORDS = { up: 'more', down: 'less', same: '' } as const;

/** `↑ 12%`, with words for screen readers. */
export function ChangeNote({ change, before, was, upIsBad = false }: ChangeNoteProps): ReactNode {
  const hint = was === undefined ? undefined : `${was} in the ${before} before`;
  if (change === undefined) return <span className="muted">No earlier data</span>;
  if (change.direction === 'same') {
    return (
      <span className="muted" data-hint={hint}>
        <span aria-hidden="true">±</span>
        {change.amount}
        <span className="visually-hidden"> change against the {before} before</span>
      </span>
    );
  }
  const tone = upIsBad && change.isNotable && (change.direction === 'up' ? 'bad' : 'good');
  return (
    <span className={tone || 'muted'} data-hint={hint}>
      <span aria-hidden="true">{ARROWS[change.direction]} </span>
      {change.amount}
      <span className="visually-hidden">
        {' '}
        {WORDS[change.direction]} than in the {before} before
      </span>
    </span>
  );
}
