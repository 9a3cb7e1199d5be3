import { type ReactNode, useId } from 'react';
import styles from './card.module.css';
import { Skeleton } from './skeleton.tsx';

export interface CardProps {
  readonly title?: string;
  /** At the right of the title. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function Card({ title, actions, children }: CardProps): ReactNode {
  const id = useId();
  return (
    <section className={styles.card} {...(title !== undefined && { 'aria-labelledby': id })}>
      {(title !== undefined || actions) && (
        <header className={styles.head}>
          <h2 id={id}>{title}</h2>
          {actions}
        </header>
      )}
      {children}
    </section>
  );
}

export interface StatProps {
  readonly label: string;
  /** Absent: not known yet. */
  readonly value: ReactNode;
  /** One line below: the comparison, the limit. */
  readonly note?: ReactNode;
}

/** One figure. Its size does not change when the figure comes. */
export function Stat({ label, value, note }: StatProps): ReactNode {
  return (
    <div className={styles.stat}>
      <dt className={styles.label}>{label}</dt>
      <dd className={styles.value}>{value ?? <Skeleton width="60%" />}</dd>
      <dd className={styles.note}>{note ?? '\u00a0'}</dd>
    </div>
  );
}

/** Stats side by side, as many as fit. */
export function StatRow({ children }: { readonly children: ReactNode }): ReactNode {
  return <dl className={styles.stats}>{children}</dl>;
}
