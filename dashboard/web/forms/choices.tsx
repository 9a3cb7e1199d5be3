import { type ReactNode, useId } from 'react';
import styles from './choices.module.css';
import type { Choice } from './select.tsx';

interface RadioProps<Value extends string, C extends Choice<Value>> {
  readonly label: string;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly choices: readonly C[];
}

export interface ExplainedChoice<Value extends string> extends Choice<Value> {
  readonly hint?: ReactNode;
}

/** A few choices with an explanation each. */
export function RadioGroup<Value extends string>(props: RadioProps<Value, ExplainedChoice<Value>>): ReactNode {
  const name = useId();
  return (
    <fieldset className={styles.group}>
      <legend className={styles.legend}>{props.label}</legend>
      {props.choices.map(({ value, label, hint, disabled }) => (
        <div key={value} className={styles.choice}>
          <input
            id={`${name}-${value}`}
            className={styles.box}
            type="radio"
            name={name}
            checked={value === props.value}
            disabled={disabled}
            aria-describedby={hint ? `${name}-${value}-hint` : undefined}
            onChange={() => props.onChange(value)}
          />
          <label htmlFor={`${name}-${value}`}>{label}</label>
          {hint && (
            <div className={styles.hint} id={`${name}-${value}-hint`}>
              {hint}
            </div>
          )}
        </div>
      ))}
    </fieldset>
  );
}

/**
 * Two to five short choices side by side, such as the range of a chart. Radio buttons for keyboard
 * and screen reader.
 */
export function SegmentedControl<Value extends string>(props: RadioProps<Value, Choice<Value>>): ReactNode {
  const name = useId();
  return (
    <fieldset className={styles.segments}>
      <legend className="visually-hidden">{props.label}</legend>
      {props.choices.map(({ value, label, disabled }) => (
        <label key={value} className={styles.segment}>
          <input
            type="radio"
            name={name}
            checked={value === props.value}
            disabled={disabled}
            onChange={() => props.onChange(value)}
          />
          {label}
        </label>
      ))}
    </fieldset>
  );
}

export interface CheckboxProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
}

export function Checkbox({ label, hint, checked, onChange, disabled }: CheckboxProps): ReactNode {
  const id = useId();
  return (
    <div className={styles.choice}>
      <input
        id={id}
        className={styles.box}
        type="checkbox"
        checked={checked}
        disabled={disabled}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChange(event.target.checked)}
      />
      <label htmlFor={id}>{label}</label>
      {hint && (
        <div className={styles.hint} id={`${id}-hint`}>
          {hint}
        </div>
      )}
    </div>
  );
}

export interface ToggleGroupProps<Value extends string> {
  readonly label: string;
  readonly values: readonly Value[];
  readonly onToggle: (value: Value) => void;
  readonly choices: readonly Choice<Value>[];
}

/**
 * A few options side by side, such as the groups of a table. Checkboxes for keyboard and screen
 * reader.
 */
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
