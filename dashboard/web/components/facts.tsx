import type { ReactNode } from 'react';
import styles from './facts.module.css';

/** A list of labels and values: `<Facts><Fact label="Model">gpt-5</Fact></Facts>`. */
export function Facts({ children }: { readonly children: ReactNode }): ReactNode {
  return <dl className={styles.facts}>{children}</dl>;
}

export function Fact({ label, children }: { readonly label: string; readonly children: ReactNode }): ReactNode {
  return (
    <div className={styles.fact}>
      <dt className={styles.label}>{label}</dt>
      <dd className={styles.value}>{children}</dd>
    </div>
  );
}

/** A value that says that there is none. */
export function Muted({ children }: { readonly children: ReactNode }): ReactNode {
  return <span className="muted">{children}</span>;
}
