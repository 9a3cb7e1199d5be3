import { createContext, type ReactNode, useContext, useId, useState } from 'react';
import styles from './field.module.css';

interface FieldControl {
  readonly id: string;
  readonly required: boolean;
  readonly invalid: boolean;
  readonly describedBy: string | undefined;
  /** What a control found wrong with what is being typed. */
  readonly report: (problem: string | undefined) => void;
}

const FieldContext = createContext<FieldControl | undefined>(undefined);

export interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  /** From the server: `problem.fields.name`. */
  readonly error?: string | undefined;
  readonly required?: boolean;
  /** The label is read out only. */
  readonly hideLabel?: boolean;
  readonly children: ReactNode;
}

/** Label, hint and error of one control, tied to it for screen readers. The control inside takes them from here. */
export function Field({ label, hint, error, required = false, hideLabel = false, children }: FieldProps): ReactNode {
  const id = useId();
  const [found, report] = useState<string>();
  const problem = found ?? error;
  const describedBy = [hint && `${id}-hint`, problem && `${id}-error`].filter(Boolean).join(' ') || undefined;
  return (
    <div className={styles.field}>
      <label id={`${id}-label`} className={hideLabel ? 'visually-hidden' : styles.label} htmlFor={id}>
        {label}
        {!required && !hideLabel && <span className={styles.optional}>optional</span>}
      </label>
      <FieldContext value={{ id, required, invalid: problem !== undefined, describedBy, report }}>
        {children}
      </FieldContext>
      {hint && (
        <div className={styles.hint} id={`${id}-hint`}>
          {hint}
        </div>
      )}
      <div role="alert" className={styles.error} id={`${id}-error`}>
        {problem}
      </div>
    </div>
  );
}

const ALONE: FieldControl = { id: '', required: false, invalid: false, describedBy: undefined, report: () => {} };

/** For controls: what to put on the element, and where to report what is wrong. */
export function useFieldControl(): {
  readonly attributes: {
    readonly id?: string;
    readonly required: boolean;
    readonly 'aria-invalid': true | undefined;
    readonly 'aria-describedby': string | undefined;
  };
  /** For controls whose label may be hidden while they are used. */
  readonly labelId: string | undefined;
  readonly report: (problem: string | undefined) => void;
} {
  const { id, required, invalid, describedBy, report } = useContext(FieldContext) ?? ALONE;
  return {
    attributes: {
      ...(id === '' ? {} : { id }),
      required,
      'aria-invalid': invalid || undefined,
      'aria-describedby': describedBy,
    },
    labelId: id === '' ? undefined : `${id}-label`,
    report,
  };
}
