import type { ReactNode } from 'react';
import type { OrganizationView } from '#contract/organization.ts';
import { DAY_MS, utcDay } from '#core/clock.ts';
import { serverMs } from '../../api/server-clock.ts';
import { Stat, StatRow } from '../../components/panels.tsx';
import { Money, ProgressBar } from '../../components/values.tsx';
import { formatMinute, formatMoney } from '../../format/format.ts';
import { spentFraction } from '../../keys/key-labels.ts';
import { BalanceEnd } from '../../organizations/balance-banner.tsx';
import { availableNanoUsd } from '../../organizations/balance-warning.ts';
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
  const resetMs = (utcDay(serverMs()) + 1) * DAY_MS;
  const hint = `The day ends at 00:00 UTC, which is ${formatMinute(resetMs)} in your zone`;
  const { dailyBudgetNanoUsd: budget } = limits;
  if (budget === undefined) return <span data-hint={hint}>No daily budget</span>;
  return (
    <>
      of <Money nanoUsd={budget} /> ·{' '}
      <span data-hint={hint}>
        resets {formatMinute(resetMs)}
        <span className="visually-hidden"> in your zone, 00:00 UTC</span>
      </span>
      <div className={styles.bar}>
        <ProgressBar
          label="Spent today of the daily budget"
          fraction={spentFraction(spentTodayNanoUsd, budget)}
          text={`${formatMoney(spentTodayNanoUsd)} of ${formatMoney(budget)}`}
        />
      </div>
    </>
  );
}
