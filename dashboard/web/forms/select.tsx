import type { ReactNode } from 'react';
import { Icon } from '../components/icon.tsx';
import { useFieldControl } from './field.tsx';
import styles from './select.module.css';

export interface Choice<Value extends string> {
  readonly value: Value;
  readonly label: string;
  readonly disabled?: boolean;
  /** Select shows consecutive choices of a group below its name. */
  readonly group?: string;
}

export interface SelectProps<Value extends string> {
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly choices: readonly Choice<Value>[];
  /** Accessible name of a control without a Field. */
  readonly label?: string;
  readonly disabled?: boolean;
}

export function Select<Value extends string>({
  value,
  onChange,
  choices,
  label,
  disabled,
}: SelectProps<Value>): ReactNode {
  const { attributes } = useFieldControl();
  return (
    <span className={styles.wrapper}>
      <select
        {...attributes}
        {...(label === undefined ? {} : { 'aria-label': label })}
        className={styles.select}
        value={value}
        disabled={disabled}
        onChange={(event) => onChange(event.target.value as Value)}
      >
        {[...Map.groupBy(choices, ({ group }) => group)].map(([group, members]) =>
          group === undefined ? (
            members.map(optionOf)
          ) : (
            <optgroup key={group} label={group}>
              {members.map(optionOf)}
            </optgroup>
          ),
        )}
      </select>
      <span className={styles.arrow}>
        <Icon name="chevronDown" />
      </span>
    </span>
  );
}

export interface FilterSelectProps<Value extends string>
  extends Pick<SelectProps<Value>, 'choices'>,
    Required<Pick<SelectProps<Value>, 'label'>> {
  /** Absent: no filter. */
  readonly value: Value | undefined;
  readonly onChange: (value: Value | undefined) => void;
  /** Label of the choice of no filter: `All keys`. */
  readonly all: string;
}

/** A filter by one value, or by none. */
export function FilterSelect<Value extends string>(props: FilterSelectProps<Value>): ReactNode {
  const { label, value = '', onChange, choices, all } = props;
  return (
    <Select<Value | ''>
      label={label}
      value={value}
      onChange={(next) => onChange(next === '' ? undefined : next)}
      choices={[{ value: '', label: all }, ...choices]}
    />
  );
}

function optionOf<Value extends string>({ value, label, disabled }: Choice<Value>): ReactNode {
  return (
    <option key={value} value={value} disabled={disabled}>
      {label}
    </option>
  );
}
