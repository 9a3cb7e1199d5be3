import type { ReactNode } from 'react';
import type { OrganizationView } from '#contract/organization.ts';
import { serverMs } from '../../api/server-clock.ts';
import { Stat, StatRow } from '../../components/panels.tsx';
import { Money, ProgressBar } from '../../components/values.tsx';
import { formatMoney, localMinute } from '../../format/format.ts';
import { BalanceEnd } from '../../organizations/balance-end.tsx';
import { availableNanoUsd } from '../../organizations/balance-warning.ts';
import { dayBudget, nextResetMs } from './day-budget.ts';
import styles from './overview.module.css';

export function BalanceStats({ organization }: { readonly organization: OrganizationView | undefined }): ReactNode {
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
        note={<div className={styles.room}>{organization && <Budget {...organization} />}</div>}
      />
    </StatRow>
  );
}

/** A budget's day ends at midnight UTC. That moment is shown in the reader's zone. */
function Budget({ spentTodayNanoUsd, limits }: OrganizationView): ReactNode {
  const resetMs = nextResetMs(serverMs());
  const hint = `The day ends at 00:00 UTC, which is ${localMinute.format(resetMs)} in your zone`;
  if (limits.dailyBudgetNanoUsd === undefined) return <span data-hint={hint}>No daily budget</span>;
  const budget = dayBudget(spentTodayNanoUsd, limits.dailyBudgetNanoUsd);
  return (
    <>
      of <Money nanoUsd={budget.budgetNanoUsd} /> ·{' '}
      <span data-hint={hint}>
        resets {localMinute.format(resetMs)}
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
