import { type ReactNode, useEffect, useRef, useState } from 'react';
import { classNames } from '../components/class-names.ts';
import { useFieldControl } from './field.tsx';
import styles from './input.module.css';

export interface ParsedInputProps<Value> {
  readonly value: Value | undefined;
  /** `undefined` while the box is empty or what it says is not valid; then the form cannot be submitted. */
  readonly onChange: (value: Value | undefined) => void;
  readonly parse: (text: string) => { readonly value: Value } | { readonly problem: string };
  readonly format: (value: Value) => string;
  readonly inputMode: 'numeric' | 'decimal';
  readonly prefix?: string;
  readonly suffix?: string;
  readonly placeholder?: string | undefined;
}

/** A text box for a value that has a form: keeps what is typed as it is typed, and says what is wrong with it after it was left. */
export function ParsedInput<Value>(props: ParsedInputProps<Value>): ReactNode {
  const { value, onChange, parse, format, prefix, suffix } = props;
  const { attributes, report } = useFieldControl();
  const [text, setText] = useState(value === undefined ? '' : format(value));
  const last = useRef(value);
  const box = useRef<HTMLInputElement>(null);

  // A value from outside (another row, a reset) replaces the text; one that came from the text itself does not.
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
