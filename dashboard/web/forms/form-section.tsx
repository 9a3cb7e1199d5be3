import { type ReactNode, useState } from 'react';
import { Icon } from '../components/icon.tsx';
import styles from './form-section.module.css';

export interface FormSectionProps {
  readonly title: string;
  /** What it says now, while it is closed. */
  readonly summary: string;
  /** Something in it is wrong: it cannot stay closed. */
  readonly hasProblem: boolean;
  readonly startOpen?: boolean;
  readonly children: ReactNode;
}

/** A part of a form that most people need not see. Opens by itself when the browser finds something wrong in it. */
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
