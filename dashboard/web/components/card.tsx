import { type ReactNode, useId } from 'react';
import styles from './card.module.css';
import { Skeleton } from './skeleton.tsx';

export interface CardProps {
  readonly title?: string;
  /** Right of the title. */
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
  /** Absent while loading. */
  readonly value: ReactNode;
  /** One line below: a comparison or limit. */
  readonly note?: ReactNode;
}

/** One figure. Its box keeps its size when the value arrives. */
export function Stat({ label, value, note }: StatProps): ReactNode {
  return (
    <div className={styles.stat}>
      <dt className={styles.label}>{label}</dt>
      <dd className={styles.value}>{value ?? <Skeleton width="60%" />}</dd>
      <dd className={styles.note}>{note ?? '\u00a0'}</dd>
    </div>
  );
}

/** As many figures in a row as fit. */
export function StatRow({ children }: { readonly children: ReactNode }): ReactNode {
  return <dl className={styles.stats}>{children}</dl>;
}
