import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { formatUsd, parseUsd } from '#core/money.ts';
import { classNames } from '../components/class-names.ts';
import { formatMoneyExactly } from '../format/format-money.ts';
import { formatCount, withoutGrouping } from '../format/format-number.ts';
import { useFieldControl } from './field.tsx';
import styles from './input.module.css';

export interface ParsedInputProps<Value> {
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

/** A text box with a parser. Keeps the text as it was typed and shows a problem on blur. */
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

export interface NumberInputProps {
  readonly value: number | undefined;
  readonly onChange: (value: number | undefined) => void;
  readonly min?: number;
  readonly max?: number;
  readonly suffix?: string;
  readonly placeholder?: string;
}

/** A whole number. */
export function NumberInput({ min = 0, max = 1_000_000_000, suffix, ...rest }: NumberInputProps): ReactNode {
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
  return <ParsedInput {...rest} parse={parse} format={String} inputMode="numeric" {...(suffix && { suffix })} />;
}

export interface MoneyInputProps {
  /** Nano-dollars. */
  readonly value: string | undefined;
  readonly onChange: (nanoUsd: string | undefined) => void;
  readonly allowNegative?: boolean;
  readonly allowZero?: boolean;
  /** Nano-dollars. */
  readonly max?: string | undefined;
  readonly placeholder?: string;
}

const format = (nanoUsd: string) => formatUsd(BigInt(nanoUsd));

/** An amount in dollars, exact to the nano-dollar. */
export function MoneyInput(props: MoneyInputProps): ReactNode {
  const { allowNegative = false, allowZero = false, max } = props;
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
  return (
    <ParsedInput
      value={props.value}
      onChange={props.onChange}
      parse={parse}
      format={format}
      inputMode="decimal"
      prefix="$"
      placeholder={props.placeholder}
    />
  );
}
