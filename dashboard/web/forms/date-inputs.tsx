import { type ReactNode, useId, useState } from 'react';
import { classNames } from '../components/class-names.ts';
import { formatUtc } from '../format/format.ts';
import { asField, type FieldLook, useFieldControl } from './field.tsx';
import styles from './inputs.module.css';

interface LocalDateTimeInputProps {
  readonly value: number | undefined;
  readonly onChange: (atMs: number | undefined) => void;
}

/** `2026-11-21T11:43` in the user's zone, the format of the element. */
function localText(atMs: number): string {
  return new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export function LocalDateTimeInput({ value, onChange }: LocalDateTimeInputProps): ReactNode {
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

const LocalDateTimeField = asField(LocalDateTimeInput);

/** A moment in the user's zone, with UTC below. */
export function DateTimeField(props: LocalDateTimeInputProps & Omit<FieldLook, 'hint'>): ReactNode {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const hint = props.value === undefined ? `Your zone: ${zone}` : `${zone} · ${formatUtc(props.value)}`;
  return <LocalDateTimeField {...props} hint={hint} />;
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
