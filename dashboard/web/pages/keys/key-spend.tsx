import type { ReactNode } from 'react';
import type { KeyView } from '../../../contract/keys.ts';
import { Money } from '../../components/money.tsx';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { formatMoney } from '../../format/format-money.ts';
import { shortMoney, spentFraction } from './key-words.ts';
import styles from './keys.module.css';

/** What a key has spent since midnight UTC, against its budget where it has one. */
export function KeySpend({ of: { spentTodayNanoUsd, dailyBudgetNanoUsd } }: { readonly of: KeyView }): ReactNode {
  if (dailyBudgetNanoUsd === undefined) return <Money nanoUsd={spentTodayNanoUsd} />;
  return (
    <div className={styles.spend}>
      <span>
        <Money nanoUsd={spentTodayNanoUsd} /> <span className={styles.muted}>of {shortMoney(dailyBudgetNanoUsd)}</span>
      </span>
      <ProgressBar
        label="Spent today of the daily budget"
        fraction={spentFraction(spentTodayNanoUsd, dailyBudgetNanoUsd)}
        text={`${formatMoney(spentTodayNanoUsd)} of ${formatMoney(dailyBudgetNanoUsd)}`}
      />
    </div>
  );
}
