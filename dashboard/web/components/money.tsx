import type { ReactNode } from 'react';
import { formatMoney, formatMoneyExactly } from '../format/format-money.ts';
import styles from './figure.module.css';

/** An amount for reading; every digit of it on hover, where some are not shown. */
export function Money({ nanoUsd }: { readonly nanoUsd: string }): ReactNode {
  const shown = formatMoney(nanoUsd);
  const exact = formatMoneyExactly(nanoUsd);
  const same = Number(exact.replaceAll(/[−$]/g, '')) === Number(shown.replaceAll(/[−$,]/g, ''));
  return (
    <span className={styles.figure} data-hint={same ? undefined : exact}>
      {shown}
    </span>
  );
}
