import { type ReactNode, useState } from 'react';
import { Icon } from '../components/icon.tsx';
import styles from './form-section.module.css';

export interface FormSectionProps {
  readonly title: string;
  /** Present values, shown while it is closed. */
  readonly summary: string;
  /** True if a field in it is invalid. It then stays open. */
  readonly hasProblem: boolean;
  readonly startOpen?: boolean;
  readonly children: ReactNode;
}

/** An optional part of a form. Opens by itself when the browser finds an invalid field in it. */
export function FormSection({ title, summary, hasProblem, startOpen = false, children }: FormSectionProps): ReactNode {
  const [open, setOpen] = useState(startOpen);
  const isOpen = open || hasProblem;
  return (
    <details
      className={styles.section}
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      onInvalidCapture={() => setOpen(true)}
    >
      <summary className={styles.head}>
        <span className={styles.arrow}>
          <Icon name="chevronRight" />
        </span>
        <span className={styles.title}>{title}</span>
        <span className={styles.summary}>{summary}</span>
      </summary>
      <div className={styles.body}>{children}</div>
    </details>
  );
}
