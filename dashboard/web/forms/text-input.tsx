import type { ComponentProps, ReactNode, Ref } from 'react';
import { Field, useFieldControl } from './field.tsx';
import styles from './input.module.css';

export interface TextInputProps
  extends Pick<
    ComponentProps<'input'>,
    | 'autoComplete'
    | 'autoFocus'
    | 'readOnly'
    | 'maxLength'
    | 'minLength'
    | 'placeholder'
    | 'spellCheck'
    | 'name'
    | 'disabled'
  > {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly type?: 'text' | 'email' | 'password' | 'search';
  readonly ref?: Ref<HTMLInputElement>;
  /** Accessible name of a control without a Field. */
  readonly label?: string;
}

export function TextInput({ value, onChange, type = 'text', label, ...rest }: TextInputProps): ReactNode {
  const { attributes } = useFieldControl();
  return (
    <input
      {...attributes}
      {...rest}
      {...(label === undefined ? {} : { 'aria-label': label })}
      className={styles.input}
      type={type}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

export interface TextAreaProps
  extends Pick<ComponentProps<'textarea'>, 'rows' | 'placeholder' | 'maxLength' | 'onKeyDown' | 'disabled'> {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly ref?: Ref<HTMLTextAreaElement>;
}

/** A text of several lines. */
export function TextArea({ value, onChange, rows = 3, ...rest }: TextAreaProps): ReactNode {
  const { attributes } = useFieldControl();
  return (
    <textarea
      {...attributes}
      {...rest}
      className={styles.input}
      rows={rows}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

export interface EmailFieldProps extends Pick<TextInputProps, 'value' | 'onChange'> {
  readonly error: string | undefined;
}

/** The address of a person who is invited. */
export function EmailField({ value, onChange, error }: EmailFieldProps): ReactNode {
  return (
    <Field label="Email" required error={error}>
      <TextInput type="email" value={value} onChange={onChange} maxLength={254} autoComplete="off" />
    </Field>
  );
}
