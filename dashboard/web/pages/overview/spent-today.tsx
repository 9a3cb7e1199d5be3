import { type ReactNode, useEffect, useState } from 'react';
import type { OrganizationView } from '../../../contract/organization.ts';
import { Money } from '../../components/figures.tsx';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { formatMoney } from '../../format/format-money.ts';
import { dayBudget, nextResetMs } from './day-budget.ts';
import styles from './overview.module.css';

const clock = new Intl.DateTimeFormat('en-US', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

/** The day of budgets ends at midnight UTC, which is some other hour for who reads this. */
export function SpentToday({ organization }: { readonly organization: OrganizationView | undefined }): ReactNode {
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
