import { createContext, type FormEvent, type ReactNode, useContext, useId, useState } from 'react';
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
    // Instead of the browser's bubble, which hides what it speaks of, in another language than the page.
    <div
      className={styles.field}
      onInvalidCapture={(event) => {
        if (isControl(event.target)) report(describeInvalid(event.target));
        focusFirstInvalid(event);
      }}
      onInput={({ target }) => isControl(target) && target.validity.valid && report(undefined)}
    >
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

/** After a closed section around it has opened. */
function focusFirstInvalid(event: FormEvent): void {
  event.preventDefault();
  const control = event.target;
  if (!isControl(control)) return;
  const first = control.form?.querySelector('input:invalid, select:invalid, textarea:invalid');
  if (first === control) requestAnimationFrame(() => control.focus());
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

export type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

export function isControl(target: EventTarget): target is Control {
  return (
    target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement
  );
}

/** What is wrong with what stands in a control, in the page's words and language where there are any. */
export function describeInvalid({
  validity,
  validationMessage,
  type,
}: Pick<Control, 'validity' | 'validationMessage' | 'type'>): string {
  if (validity.customError) return validationMessage;
  if (validity.badInput || (validity.valueMissing && type === 'datetime-local')) return 'Enter a date and a time.';
  if (validity.valueMissing) return 'This is required.';
  if (validity.typeMismatch && type === 'email') return 'Enter an email address.';
  return validationMessage;
}
