import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';
import styles from './progress-bar.module.css';

export interface ProgressBarProps {
  /** Accessible name: `Spend today against the daily budget`. */
  readonly label: string;
  /** From 0 to 1. Larger values fill the bar. */
  readonly fraction: number;
  /** Accessible value: `$3.10 of $50.00`. */
  readonly text: string;
}

/** The used part of a budget. Warns at 80 %, bad at 100 %. */
export function ProgressBar({ label, fraction, text }: ProgressBarProps): ReactNode {
  const share = Math.min(1, Math.max(0, fraction));
  const tone = share >= 1 ? styles.full : share >= 0.8 ? styles.near : undefined;
  return (
    <div
      className={styles.track}
      role="progressbar"
      aria-label={label}
      aria-valuenow={Math.round(share * 100)}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuetext={text}
    >
      <div className={classNames(styles.bar, tone)} style={{ width: `${share * 100}%` }} />
    </div>
  );
}
