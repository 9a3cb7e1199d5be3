import { type ComponentProps, type ReactNode, useId } from 'react';
import { classNames } from '../components/class-names.ts';
import { Icon } from '../components/icon.tsx';
import styles from './choices.module.css';
import { asField, type FieldLook, useFieldControl } from './field.tsx';
import inputStyles from './inputs.module.css';

export interface Choice<Value extends string> {
  readonly value: Value;
  readonly label: string;
  readonly disabled?: boolean;
  /** Select groups consecutive choices under this name. */
  readonly group?: string;
  /** Shown below the label in a RadioGroup. */
  readonly hint?: ReactNode;
}

/** Choices with all their properties, or just labels by value. */
export type Choices<Value extends string> = readonly Choice<Value>[] | Readonly<Record<Value, string>>;

function listOf<Value extends string>(choices: Choices<Value>): readonly Choice<Value>[] {
  if (Array.isArray(choices)) return choices;
  return Object.entries(choices).map(([value, label]) => ({ value, label }) as Choice<Value>);
}

interface SelectProps<Value extends string> {
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly choices: Choices<Value>;
  /** Accessible name of a control without a Field. */
  readonly label?: string;
  readonly disabled?: boolean;
}

export function Select<Value extends string>(props: SelectProps<Value>): ReactNode {
  const { value, onChange, choices, label, disabled } = props;
  const { attributes } = useFieldControl();
  return (
    <span className={inputStyles.affixed}>
      <select
        {...attributes}
        {...(label === undefined ? {} : { 'aria-label': label })}
        className={classNames(inputStyles.input, styles.select)}
        value={value}
        disabled={disabled}
        onChange={(event) => onChange(event.target.value as Value)}
      >
        {[...Map.groupBy(listOf(choices), ({ group }) => group)].map(([group, members]) =>
          group === undefined ? (
            members.map(optionOf)
          ) : (
            <optgroup key={group} label={group}>
              {members.map(optionOf)}
            </optgroup>
          ),
        )}
      </select>
      <Icon name="chevronDown" className={styles.arrow} />
    </span>
  );
}

export const SelectField = asField(Select) as <Value extends string>(
  props: SelectProps<Value> & FieldLook,
) => ReactNode;

interface OptionalSelectProps<Value extends string> extends Pick<SelectProps<Value>, 'choices' | 'label'> {
  readonly value: Value | undefined;
  readonly onChange: (value: Value | undefined) => void;
  /** Label for no choice, such as `All keys`. */
  readonly none: string;
}

export function OptionalSelect<Value extends string>(props: OptionalSelectProps<Value>): ReactNode {
  const { value = '', onChange, choices, none, ...rest } = props;
  return (
    <Select<Value | ''>
      {...rest}
      value={value}
      onChange={(next) => onChange(next === '' ? undefined : next)}
      choices={[{ value: '', label: none }, ...listOf(choices)]}
    />
  );
}

export const OptionalSelectField = asField(OptionalSelect) as <Value extends string>(
  props: OptionalSelectProps<Value> & FieldLook,
) => ReactNode;

function optionOf<Value extends string>({ value, label, disabled }: Choice<Value>): ReactNode {
  return (
    <option key={value} className="option" value={value} disabled={disabled}>
      {label}
    </option>
  );
}

interface RadioProps<Value extends string> extends Pick<SelectProps<Value>, 'value' | 'onChange' | 'choices'> {
  readonly label: string;
}

export function RadioGroup<Value extends string>(props: RadioProps<Value>): ReactNode {
  const name = useId();
  return (
    <ChoiceGroup label={props.label}>
      {listOf(props.choices).map(({ value, label, hint, disabled }) => (
        <Explained
          key={value}
          {...{ label, hint, disabled, name }}
          type="radio"
          checked={value === props.value}
          onChange={() => props.onChange(value)}
        />
      ))}
    </ChoiceGroup>
  );
}

/** Related choices, one below another. */
export function ChoiceGroup({ label, children }: { readonly label: string; readonly children: ReactNode }): ReactNode {
  return (
    <fieldset className={styles.group}>
      <legend className={styles.legend}>{label}</legend>
      {children}
    </fieldset>
  );
}

/** Two to five short choices side by side: radio buttons for keyboard and screen reader. */
export function SegmentedControl<Value extends string>(props: RadioProps<Value>): ReactNode {
  const name = useId();
  return (
    <fieldset className={styles.segments}>
      <legend className="visually-hidden">{props.label}</legend>
      {listOf(props.choices).map(({ value, label, disabled }) => (
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

interface CheckboxProps extends Pick<ExplainedProps, 'label' | 'hint' | 'disabled'> {
  readonly value: boolean;
  readonly onChange: (value: boolean) => void;
}

export function Checkbox({ value, onChange, ...rest }: CheckboxProps): ReactNode {
  return <Explained {...rest} type="checkbox" checked={value} onChange={(event) => onChange(event.target.checked)} />;
}

interface ExplainedProps extends ComponentProps<'input'> {
  readonly label: string;
  readonly hint?: ReactNode;
}

/** A checkbox or radio button with label and hint. */
function Explained({ label, hint, ...input }: ExplainedProps): ReactNode {
  const id = useId();
  return (
    <div className={styles.choice}>
      <input {...input} id={id} className={styles.box} aria-describedby={hint ? `${id}-hint` : undefined} />
      <label htmlFor={id}>{label}</label>
      {hint && (
        <div className={styles.hint} id={`${id}-hint`}>
          {hint}
        </div>
      )}
    </div>
  );
}
