import type { ReactNode } from 'react';
import { Field } from './field.tsx';
import { PasswordInput } from './password-input.tsx';

/** As the server demands. */
const MIN_LENGTH = 12;

export interface NewPasswordFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error: string | undefined;
}

/** A password to be. Shown on demand instead of asked for twice. */
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
