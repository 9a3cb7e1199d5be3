import type { ReactNode } from 'react';
import type { KeyView } from '../../../contract/keys.ts';
import { StatusPill } from '../../components/badge.tsx';
import { Instant, Money } from '../../components/figures.tsx';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { formatMoney } from '../../format/format-money.ts';
import { shortMoney, spentFraction } from '../../keys/key-labels.ts';
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

/** Spend since midnight UTC, and the budget if there is one. */
export function KeySpend({ of: { spentTodayNanoUsd, dailyBudgetNanoUsd } }: { readonly of: KeyView }): ReactNode {
  if (dailyBudgetNanoUsd === undefined) return <Money nanoUsd={spentTodayNanoUsd} />;
  return (
    <div className={styles.spend}>
      <span>
        <Money nanoUsd={spentTodayNanoUsd} /> <span className="muted">of {shortMoney(dailyBudgetNanoUsd)}</span>
      </span>
      <ProgressBar
        label="Spent today of the daily budget"
        fraction={spentFraction(spentTodayNanoUsd, dailyBudgetNanoUsd)}
        text={`${formatMoney(spentTodayNanoUsd)} of ${formatMoney(dailyBudgetNanoUsd)}`}
      />
    </div>
  );
}
