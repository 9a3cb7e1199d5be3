import { type ComponentProps, type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { formatUsd, parseUsd } from '#core/money.ts';
import { IconButton } from '../components/button.tsx';
import { classNames } from '../components/class-names.ts';
import { formatCount, formatMoneyExactly, withoutGrouping } from '../format/format.ts';
import { asField, type FieldLook, useFieldControl } from './field.tsx';
import styles from './inputs.module.css';

interface TextInputProps extends Omit<ComponentProps<'input'>, 'value' | 'onChange' | 'className'> {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly type?: 'text' | 'email' | 'password' | 'search';
  /** Accessible name of a control without a Field. */
  readonly label?: string;
}

export function TextInput({ value, onChange, type = 'text', label, ...rest }: TextInputProps): ReactNode {
  const { attributes } = useFieldControl();
  return (
    <input
      {...attributes}
      {...rest}
      {...(label === undefined ? {} : { 'aria-label': label })}
      className={styles.input}
      type={type}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

interface TextAreaProps extends Omit<ComponentProps<'textarea'>, 'value' | 'onChange' | 'className'> {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function TextArea({ value, onChange, rows = 3, ...rest }: TextAreaProps): ReactNode {
  const { attributes } = useFieldControl();
  return (
    <textarea
      {...attributes}
      {...rest}
      className={styles.input}
      rows={rows}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

export const TextField = asField(TextInput);
export const TextAreaField = asField(TextArea);

/** Email address of the account that signs in. */
export function AccountEmailField(props: Omit<ComponentProps<typeof TextField>, 'label' | 'type' | 'name'>) {
  return <TextField label="Email" required type="email" name="email" autoComplete="username" {...props} />;
}

/** Email address of an invited person. */
export function EmailField(props: Pick<TextInputProps, 'value' | 'onChange'> & { readonly error: string | undefined }) {
  return <TextField label="Email" required type="email" maxLength={254} autoComplete="off" {...props} />;
}

interface ParsedInputProps<Value> {
  readonly value: Value | undefined;
  /** `undefined` while the box is empty or invalid. The form cannot be submitted then. */
  readonly onChange: (value: Value | undefined) => void;
  readonly parse: (text: string) => { readonly value: Value } | { readonly problem: string };
  readonly format: (value: Value) => string;
  readonly inputMode: 'numeric' | 'decimal';
  readonly prefix?: string;
  readonly suffix?: string;
  readonly placeholder?: string | undefined;
}

/** A text box with a parser. Keeps the typed text, and shows a problem when it loses the focus. */
export function ParsedInput<Value>(props: ParsedInputProps<Value>): ReactNode {
  const { value, onChange, parse, format, prefix, suffix } = props;
  const { attributes, report } = useFieldControl();
  const [text, setText] = useState(value === undefined ? '' : format(value));
  const last = useRef(value);
  const box = useRef<HTMLInputElement>(null);

  // A value from outside, such as a reset, replaces the text.
  useEffect(() => {
    if (last.current === value) return;
    last.current = value;
    setText(value === undefined ? '' : format(value));
    box.current?.setCustomValidity('');
  }, [value, format]);

  const read = (next: string) => {
    setText(next);
    const result = next.trim() === '' ? undefined : parse(next.trim());
    const problem = result && 'problem' in result ? result.problem : '';
    box.current?.setCustomValidity(problem);
    if (problem === '') report(undefined);
    last.current = result && 'value' in result ? result.value : undefined;
    onChange(last.current);
  };

  return (
    <span className={styles.affixed}>
      {prefix && <span className={styles.prefix}>{prefix}</span>}
      <input
        {...attributes}
        ref={box}
        className={classNames(styles.input, styles.number)}
        inputMode={props.inputMode}
        autoComplete="off"
        placeholder={props.placeholder}
        value={text}
        onChange={(event) => read(event.target.value)}
        onBlur={() => report(box.current?.validity.customError ? box.current.validationMessage : undefined)}
      />
      {suffix && <span className={styles.suffix}>{suffix}</span>}
    </span>
  );
}

interface NumberInputProps extends Omit<ParsedInputProps<number>, 'parse' | 'format' | 'inputMode' | 'prefix'> {
  readonly min?: number;
  readonly max?: number;
}

function NumberInput({ min = 0, max = 1_000_000_000, ...rest }: NumberInputProps): ReactNode {
  const parse = useCallback(
    (text: string) => {
      const digits = withoutGrouping(text);
      const value = /^\d{1,15}$/.test(digits) ? Number(digits) : Number.NaN;
      return value >= min && value <= max
        ? { value }
        : { problem: `Enter a whole number from ${formatCount(min)} to ${formatCount(max)}.` };
    },
    [min, max],
  );
  return <ParsedInput {...rest} parse={parse} format={String} inputMode="numeric" />;
}

export const NumberField = asField(NumberInput);

/** A box for an amount in nano-dollars. */
interface MoneyInputProps extends Pick<ParsedInputProps<string>, 'value' | 'onChange' | 'placeholder'> {
  readonly allowNegative?: boolean;
  readonly allowZero?: boolean;
  readonly max?: string | undefined;
}

const format = (nanoUsd: string) => formatUsd(BigInt(nanoUsd));

/** An amount in dollars, exact to the nano-dollar. */
function MoneyInput({ allowNegative = false, allowZero = false, max, ...rest }: MoneyInputProps): ReactNode {
  const parse = useCallback(
    (text: string) => {
      const nano = parseUsd(withoutGrouping(text));
      if (nano === undefined) return { problem: 'Enter an amount in dollars, with a point for cents, such as 12.50.' };
      if (nano < 0n && !allowNegative) return { problem: 'The amount cannot be negative.' };
      if (nano === 0n && !allowZero) return { problem: 'The amount cannot be zero.' };
      if (max !== undefined && nano > BigInt(max)) return { problem: `At most ${formatMoneyExactly(max)}.` };
      return { value: nano.toString() };
    },
    [allowNegative, allowZero, max],
  );
  return <ParsedInput {...rest} parse={parse} format={format} inputMode="decimal" prefix="$" />;
}

export const MoneyField = asField(MoneyInput);

interface PasswordInputProps extends Pick<TextInputProps, 'value' | 'onChange' | 'autoFocus' | 'minLength'> {
  readonly autoComplete: 'current-password' | 'new-password';
}

/** A password, which can be made visible while typing. */
function PasswordInput(props: PasswordInputProps): ReactNode {
  const [shown, setShown] = useState(false);
  return (
    <span className={styles.affixed}>
      <TextInput {...props} type={shown ? 'text' : 'password'} maxLength={1000} spellCheck={false} />
      <span className={styles.reveal}>
        <IconButton
          icon={shown ? 'eyeOff' : 'eye'}
          label={shown ? 'Hide what is typed' : 'Show what is typed'}
          onClick={() => setShown(!shown)}
        />
      </span>
    </span>
  );
}

export const PasswordField = asField(PasswordInput);

export function CurrentPasswordField(props: Omit<ComponentProps<typeof PasswordField>, 'label' | 'autoComplete'>) {
  return <PasswordField label="Password" required {...props} autoComplete="current-password" />;
}

/** The server's minimum. */
const MIN_LENGTH = 12;

/** A new password. It can be made visible, so it is entered only once. */
export function NewPasswordField(props: Pick<TextInputProps, 'value' | 'onChange'> & Pick<FieldLook, 'error'>) {
  const hint = `At least ${MIN_LENGTH} characters. A few words are fine.`;
  return (
    <PasswordField
      {...props}
      label="New password"
      hint={hint}
      required
      autoComplete="new-password"
      minLength={MIN_LENGTH}
    />
  );
}

/** Tells password managers to which account a password belongs. */
export function HiddenEmail({ email }: { readonly email: string }): ReactNode {
  return <input type="hidden" name="email" autoComplete="username" value={email} readOnly />;
}
