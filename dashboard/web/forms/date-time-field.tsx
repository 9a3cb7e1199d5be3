import type { ReactNode } from 'react';
import { formatUtc } from '../format/format-instant.ts';
import { Field } from './field.tsx';
import { LocalDateTimeInput } from './local-date-time-input.tsx';

export interface DateTimeFieldProps {
  readonly label: string;
  readonly value: number | undefined;
  readonly onChange: (atMs: number | undefined) => void;
  readonly minMs?: number;
  readonly required?: boolean;
  readonly error?: string | undefined;
}

/** A moment in the user's zone, with what it is in UTC below. */
export function DateTimeField({
  label,
  value,
  onChange,
  minMs,
  required = false,
  error,
}: DateTimeFieldProps): ReactNode {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <Field
      label={label}
      required={required}
      error={error}
      hint={value === undefined ? `Your zone: ${zone}` : `${zone} · ${formatUtc(value)}`}
    >
      <LocalDateTimeInput value={value} onChange={onChange} {...(minMs !== undefined && { minMs })} />
    </Field>
  );
}
