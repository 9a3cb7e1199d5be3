import { type ComponentType, createContext, type FormEvent, type ReactNode, useContext, useId, useState } from 'react';
import styles from './field.module.css';

interface FieldControl {
  /** Attributes for the control's element. */
  readonly attributes: {
    readonly id?: string;
    readonly required: boolean;
    readonly 'aria-invalid'?: true | undefined;
    readonly 'aria-describedby'?: string | undefined;
  };
  /** For controls whose label is hidden while they are open. */
  readonly labelId?: string;
  /** Reports a problem that the control found. */
  readonly report: (problem: string | undefined) => void;
}

const FieldContext = createContext<FieldControl>({ attributes: { required: false }, report: () => {} });

/** The field's properties. A control outside of a Field gets defaults. */
export const useFieldControl = () => useContext(FieldContext);

export interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  /** Problem from the server: `problem.fields.name`. */
  readonly error?: string | undefined;
  readonly required?: boolean;
  readonly children: ReactNode;
}

/** Label, hint and error, linked for screen readers. The control reads them from the context. */
export function Field({ label, hint, error, required = false, children }: FieldProps): ReactNode {
  const id = useId();
  const [found, report] = useState<string>();
  const problem = found ?? error;
  const attributes = {
    ...{ id, required, 'aria-invalid': problem !== undefined || undefined },
    'aria-describedby': [hint && `${id}-hint`, problem && `${id}-error`].filter(Boolean).join(' ') || undefined,
  } as const;
  return (
    // Replaces the browser's bubble, which covers the field and may be in another language.
    <div
      className={styles.field}
      onInvalidCapture={(event) => {
        if (isControl(event.target)) report(describeInvalid(event.target));
        focusFirstInvalid(event);
      }}
      onInput={({ target }) => isControl(target) && target.validity.valid && report(undefined)}
    >
      <label id={`${id}-label`} className={styles.label} htmlFor={id}>
        {label}
        {!required && <span className={styles.optional}>optional</span>}
      </label>
      <FieldContext value={{ attributes, labelId: `${id}-label`, report }}>{children}</FieldContext>
      {hint && (
        <div className="muted small" id={`${id}-hint`}>
          {hint}
        </div>
      )}
      <div role="alert" className={styles.error} id={`${id}-error`}>
        {problem}
      </div>
    </div>
  );
}

/** Properties of a field in addition to those of its control. */
export type FieldLook = Omit<FieldProps, 'children'>;

/** A control with label, hint and error: `<TextField label="Name" value={…} onChange={…} />`. */
export function asField<Props extends object>(Control: ComponentType<Props>) {
  return function LabelledControl(props: Omit<Props, keyof FieldLook> & FieldLook): ReactNode {
    const { label, hint, error, required = false, ...rest } = props;
    return (
      <Field label={label} hint={hint} error={error} required={required}>
        <Control {...(rest as unknown as Props)} />
      </Field>
    );
  };
}

/** Properties that bind a control to one value of a draft. */
export interface BoundField<Value> {
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly error: string | undefined;
}

/** Binds controls to a draft: `<TextField label="Name" {...field('name')} />`. */
export function fieldsOf<Draft extends object>(
  draft: Draft,
  onDraft: (draft: Draft) => void,
  problems: Readonly<Record<string, string>> = {},
) {
  return <Name extends keyof Draft & string>(name: Name): BoundField<Draft[Name]> => ({
    value: draft[name],
    onChange: (value) => onDraft({ ...draft, [name]: value }),
    error: problems[name],
  });
}

/** Focuses the first invalid control, after a closed section around it has opened. */
function focusFirstInvalid(event: FormEvent): void {
  event.preventDefault();
  const control = event.target;
  if (!isControl(control)) return;
  const first = control.form?.querySelector('input:invalid, select:invalid, textarea:invalid');
  if (first === control) requestAnimationFrame(() => control.focus());
}

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

function isControl(target: EventTarget): target is Control {
  return (
    target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement
  );
}

/** The validation message of a control, in the page's own words if it has any. */
function describeInvalid({ validity, validationMessage, type }: Control): string {
  if (validity.customError) return validationMessage;
  if (validity.badInput || (validity.valueMissing && type === 'datetime-local')) return 'Enter a date and a time.';
  if (validity.valueMissing) return 'This is required.';
  if (validity.tooShort) return 'This is too short.';
  if (validity.typeMismatch && type === 'email') return 'Enter an email address.';
  return validationMessage;
}
