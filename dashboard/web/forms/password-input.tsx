import { type ReactNode, useState } from 'react';
import { IconButton } from '../components/button.tsx';
import { Field } from './field.tsx';
import styles from './password-input.module.css';
import { TextInput, type TextInputProps } from './text-input.tsx';

export interface PasswordInputProps extends Pick<TextInputProps, 'value' | 'onChange' | 'autoFocus' | 'minLength'> {
  readonly autoComplete: 'current-password' | 'new-password';
}

/** A password that can be shown while it is typed. */
export function PasswordInput(props: PasswordInputProps): ReactNode {
  const [shown, setShown] = useState(false);
  return (
    <span className={styles.wrapper}>
      <TextInput {...props} type={shown ? 'text' : 'password'} maxLength={1000} spellCheck={false} />
      <span className={styles.button}>
        <IconButton
          icon={shown ? 'eyeOff' : 'eye'}
          label={shown ? 'Hide what is typed' : 'Show what is typed'}
          onClick={() => setShown(!shown)}
        />
      </span>
    </span>
  );
}

/** The server's minimum. */
const MIN_LENGTH = 12;

export interface NewPasswordFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error: string | undefined;
}

/** A new password. It can be shown, so it is asked for only once. */
export function NewPasswordField({ value, onChange, error }: NewPasswordFieldProps): ReactNode {
  return (
    <Field
      label="New password"
      hint={`At least ${MIN_LENGTH} characters. A few words are fine.`}
      error={error}
      required
    >
      <PasswordInput value={value} onChange={onChange} autoComplete="new-password" minLength={MIN_LENGTH} />
    </Field>
  );
}

/** The account of a password, for password managers. */
export function HiddenEmail({ email }: { readonly email: string }): ReactNode {
  return <input type="hidden" name="email" autoComplete="username" value={email} readOnly />;
}
