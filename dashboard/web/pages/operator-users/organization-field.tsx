import type { ReactNode } from 'react';
import { Field } from '../../forms/field.tsx';
import { OrganizationPicker } from '../../shell/organization-picker.tsx';

export interface OrganizationFieldProps {
  readonly value: string | undefined;
  readonly onChange: (id: string) => void;
  readonly error: string | undefined;
}

export function OrganizationField({ value, onChange, error }: OrganizationFieldProps): ReactNode {
  return (
    <Field label="Organization" required error={error}>
      <OrganizationPicker value={value} onChange={onChange} placeholder="Choose an organization…" />
    </Field>
  );
}
