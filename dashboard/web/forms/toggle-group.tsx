import type { ReactNode } from 'react';
import styles from './choice.module.css';
import type { Choice } from './select.tsx';

export interface ToggleGroupProps<Value extends string> {
  readonly label: string;
  readonly values: readonly Value[];
  readonly onToggle: (value: Value) => void;
  readonly choices: readonly Choice<Value>[];
}

/** A few things side by side of which several may hold, such as what a table is grouped by. Checkboxes to keyboard and screen reader. */
export function ToggleGroup<Value extends string>(props: ToggleGroupProps<Value>): ReactNode {
  return (
    <fieldset className={styles.segments}>
      <legend className="visually-hidden">{props.label}</legend>
      {props.choices.map(({ value, label, disabled }) => (
        <label key={value} className={styles.segment}>
          <input
            type="checkbox"
            checked={props.values.includes(value)}
            disabled={disabled}
            onChange={() => props.onToggle(value)}
          />
          {label}
        </label>
      ))}
    </fieldset>
  );
}
