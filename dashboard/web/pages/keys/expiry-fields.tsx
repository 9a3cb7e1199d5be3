import { type ReactNode, useState } from 'react';
import { formatInstant } from '../../format/format-instant.ts';
import { SegmentedControl } from '../../forms/choices.tsx';
import { DateTimeField } from '../../forms/date-time-input.tsx';
import { EXPIRY_CHOICES, EXPIRY_LABELS, type ExpiryChoice, expiryOf } from './key-choices.ts';

export interface ExpiryFieldsProps {
  /** Chosen when the fields appear. */
  readonly initial: ExpiryChoice;
  readonly expiresAtMs: number | undefined;
  readonly onChange: (expiresAtMs: number | undefined) => void;
  readonly problem: string | undefined;
}

/** The end of a key: never, in some days, or a chosen moment. */
export function ExpiryFields({ initial, expiresAtMs, onChange, problem }: ExpiryFieldsProps): ReactNode {
  const [choice, setChoice] = useState(initial);
  return (
    <>
      <SegmentedControl
        label="Expires"
        value={choice}
        choices={EXPIRY_CHOICES.map((value) => ({ value, label: EXPIRY_LABELS[value] }))}
        onChange={(next) => {
          setChoice(next);
          // A custom expiry starts at the moment that was chosen before.
          if (next !== 'custom' || expiresAtMs === undefined) onChange(expiryOf(next, Date.now()));
        }}
      />
      {choice === 'custom' ? (
        <DateTimeField label="Expires at" required value={expiresAtMs} onChange={onChange} error={problem} />
      ) : (
        <p className="muted">
          {expiresAtMs === undefined
            ? 'The key works until it is revoked.'
            : `From ${formatInstant(expiresAtMs)} on, requests get key_expired.`}
        </p>
      )}
    </>
  );
}
