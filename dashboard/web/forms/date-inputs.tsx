import { type ReactNode, useId, useState } from 'react';
import { classNames } from '../components/class-names.ts';
import { formatUtc } from '../format/format.ts';
import { Field, useFieldControl } from './field.tsx';
import styles from './inputs.module.css';

interface LocalDateTimeInputProps {
  readonly value: number | undefined;
  readonly onChange: (atMs: number | undefined) => void;
  readonly minMs?: number;
}

/** `2026-11-21T11:43` in the user's zone, the format of the element. */
function localText(atMs: number): string {
  return new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export function LocalDateTimeInput({ value, onChange, minMs }: LocalDateTimeInputProps): ReactNode {
  const { attributes } = useFieldControl();
  // A half-typed input has no value, and setting one would clear it.
  const [text, setText] = useState(value === undefined ? '' : localText(value));
  const shown = value !== undefined && Date.parse(text) !== value ? localText(value) : text;
  return (
    <input
      {...attributes}
      className={styles.input}
      type="datetime-local"
      value={shown}
      {...(minMs !== undefined && { min: localText(minMs) })}
      max="9999-12-31T23:59"
      onChange={(event) => {
        setText(event.target.value);
        // Date.parse reads text without a zone in the user's zone.
        const atMs = Date.parse(event.target.value);
        onChange(Number.isNaN(atMs) ? undefined : atMs);
      }}
    />
  );
}

interface DateTimeFieldProps {
  readonly label: string;
  readonly value: number | undefined;
  readonly onChange: (atMs: number | undefined) => void;
  readonly minMs?: number;
  readonly required?: boolean;
  readonly error?: string | undefined;
}

/** A moment in the user's zone, with UTC below. */
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

export interface DayRange {
  /** `2026-11-21`. Absent: open. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

interface DayRangeInputProps {
  /** Accessible name: `Days of UTC`. */
  readonly label: string;
  readonly value: DayRange;
  readonly onChange: (value: DayRange) => void;
  /** The reason why these days are invalid. */
  readonly problem?: string | undefined;
  /** The last possible day. */
  readonly max?: string;
}

export function DayRangeInput({ label, value, onChange, problem, max }: DayRangeInputProps): ReactNode {
  const id = useId();
  const box = (name: 'from' | 'to', text: string) => (
    <input
      className={classNames(styles.input, styles.day)}
      type="date"
      aria-label={text}
      aria-invalid={problem === undefined ? undefined : true}
      aria-describedby={problem === undefined ? undefined : `${id}-problem`}
      value={value[name] ?? ''}
      {...(max !== undefined && { max })}
      onChange={(event) => onChange({ ...value, [name]: event.target.value || undefined })}
    />
  );
  return (
    <fieldset className={styles.days}>
      <legend className="visually-hidden">{label}</legend>
      {box('from', 'First day')}
      <span aria-hidden="true">–</span>
      {box('to', 'Last day')}
      <span role="alert" id={`${id}-problem`} className={styles.problem}>
        {problem}
      </span>
    </fieldset>
  );
}
