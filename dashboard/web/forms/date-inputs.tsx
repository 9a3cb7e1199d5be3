import { type ReactNode, useState } from 'react';
import { formatUtc } from '../format/format.ts';
import { asField, type FieldLook, useFieldControl } from './field.tsx';
import styles from './inputs.module.css';

interface LocalDateTimeInputProps {
  readonly value: number | undefined;
  readonly onChange: (atMs: number | undefined) => void;
}

/** `2026-11-21T11:43` in the reader's zone, the format of the input element. */
function localText(atMs: number): string {
  return new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function LocalDateTimeInput({ value, onChange }: LocalDateTimeInputProps): ReactNode {
  const { attributes } = useFieldControl();
  // A half-typed input has no value, and setting its value would clear it.
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
        // Date.parse() interprets text without a zone in the reader's zone.
        const atMs = Date.parse(event.target.value);
        onChange(Number.isNaN(atMs) ? undefined : atMs);
      }}
    />
  );
}

const LocalDateTimeField = asField(LocalDateTimeInput);

/** A moment in the reader's zone, with UTC below. */
export function DateTimeField(props: LocalDateTimeInputProps & Omit<FieldLook, 'hint'>): ReactNode {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const hint = props.value === undefined ? `Your zone: ${zone}` : `${zone} · ${formatUtc(props.value)}`;
  return <LocalDateTimeField {...props} hint={hint} />;
}
