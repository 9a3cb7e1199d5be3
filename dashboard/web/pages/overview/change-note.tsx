import type { ReactNode } from 'react';
import { classNames } from '../../components/class-names.ts';
import type { Change } from './change.ts';
import styles from './overview.module.css';

export interface ChangeNoteProps {
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
  if (change === undefined) return <span className={styles.note}>No earlier data</span>;
  if (change.direction === 'same') {
    return (
      <span className={styles.note} data-hint={hint}>
        <span aria-hidden="true">±</span>
        {change.amount}
        <span className="visually-hidden"> change against the {before} before</span>
      </span>
    );
  }
  const tone = upIsBad && change.isNotable && (change.direction === 'up' ? styles.bad : styles.good);
  return (
    <span className={classNames(styles.note, tone)} data-hint={hint}>
      <span aria-hidden="true">{ARROWS[change.direction]} </span>
      {change.amount}
      <span className="visually-hidden">
        {' '}
        {WORDS[change.direction]} than in the {before} before
      </span>
    </span>
  );
}
