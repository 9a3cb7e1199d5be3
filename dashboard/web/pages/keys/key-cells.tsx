import type { ReactNode } from 'react';
import type { KeyView } from '#contract/keys.ts';
import { StatusPill } from '../../components/badge.tsx';
import { Instant, Money } from '../../components/figures.tsx';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { formatMoney } from '../../format/format-money.ts';
import { shortMoney, spendOf, spentFraction } from '../../keys/key-labels.ts';
import { type KeyStatus, keyStatus } from './key-status.ts';
import styles from './keys.module.css';

const PILLS: Readonly<
  Record<KeyStatus['kind'], { readonly tone: 'good' | 'warn' | 'neutral'; readonly word: string }>
> = {
  usable: { tone: 'good', word: 'Usable' },
  expiring: { tone: 'warn', word: 'Expiring' },
  revoking: { tone: 'warn', word: 'Revoking' },
  expired: { tone: 'neutral', word: 'Expired' },
  revoked: { tone: 'neutral', word: 'Revoked' },
};

/** Status of the key, with its moment. */
export function KeyState({ of: key }: { readonly of: KeyView }): ReactNode {
  const { kind, atMs } = keyStatus(key, Date.now());
  const { tone, word } = PILLS[kind];
  return (
    <span className={styles.state}>
      <StatusPill tone={tone}>{word}</StatusPill>
      {atMs !== undefined && (
        <span className="muted">
          <Instant atMs={atMs} show="relative" />
        </span>
      )}
    </span>
  );
}

export interface KeySpendProps {
  readonly of: KeyView;
  readonly period: 'day' | 'month' | 'lifetime';
}

/** Spend of a period, and its budget if there is one. Without one only that of the day is known. */
export function KeySpend({ of: key, period }: KeySpendProps): ReactNode {
  const { spentNanoUsd, budgetNanoUsd, words } = spendOf(key, period);
  if (spentNanoUsd === undefined) return null;
  if (budgetNanoUsd === undefined) return <Money nanoUsd={spentNanoUsd} />;
  return (
    <div className={styles.spend}>
      <span>
        <Money nanoUsd={spentNanoUsd} />{' '}
        <span className="muted">
          of {shortMoney(budgetNanoUsd)}
          {words}
        </span>
      </span>
      <ProgressBar
        label={`Spent of ${shortMoney(budgetNanoUsd)}${words}`}
        fraction={spentFraction(spentNanoUsd, budgetNanoUsd)}
        text={`${formatMoney(spentNanoUsd)} of ${formatMoney(budgetNanoUsd)}`}
      />
    </div>
  );
}

/** Spend of every period that is known, for a cell of the list. */
export function KeySpends({ of: key }: { readonly of: KeyView }): ReactNode {
  return (
    <div className={styles.spends}>
      <span>
        <KeySpend of={key} period="day" />
        {key.dailyBudgetNanoUsd === undefined && <span className="muted"> today</span>}
      </span>
      <KeySpend of={key} period="month" />
      <KeySpend of={key} period="lifetime" />
    </div>
  );
}
