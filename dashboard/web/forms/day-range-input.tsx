import { type ReactNode, useId } from 'react';
import { classNames } from '../components/class-names.ts';
import styles from './day-range-input.module.css';
import inputStyles from './input.module.css';

export interface DayRange {
  /** `2026-11-21`. Absent: open. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface DayRangeInputProps {
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
      className={classNames(inputStyles.input, styles.day)}
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
