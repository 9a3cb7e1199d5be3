import type { ReactNode } from 'react';
import { formatCompact, formatCount, formatDuration } from '../format/format-number.ts';
import styles from './figure.module.css';

/** A number of things: short from ten thousand on (`12.3K`), exact on hover. */
export function Count({ value }: { readonly value: number }): ReactNode {
  const shown = formatCompact(value);
  const exact = formatCount(value);
  return (
    <span className={styles.figure} data-hint={shown === exact ? undefined : exact}>
      {shown}
    </span>
  );
}

/** A length of time: `840 ms`, `1.24 s`. */
export function Duration({ milliseconds }: { readonly milliseconds: number }): ReactNode {
  return <span className={styles.figure}>{formatDuration(milliseconds)}</span>;
}
