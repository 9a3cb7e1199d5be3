import { type ClipboardEvent, type KeyboardEvent, type ReactNode, useRef, useState } from 'react';
import { classNames } from '../components/class-names.ts';
import { Icon } from '../components/icon.tsx';
import styles from './chips.module.css';
import { useFieldControl } from './field.tsx';

export interface ChipsInputProps {
  readonly value: readonly string[] | undefined;
  readonly onChange: (value: readonly string[]) => void;
  /** The problem of a value, or undefined. Invalid values stay, marked, until they are removed. */
  readonly validate: (value: string) => string | undefined;
  readonly max?: number;
  readonly placeholder?: string;
}

/** A list of texts. Enter, comma, space or a pasted list adds; Backspace edits the last one. */
export function ChipsInput(props: ChipsInputProps): ReactNode {
  const { value: values = [], onChange, validate, max = 100, placeholder } = props;
  const { attributes, report } = useFieldControl();
  const [text, setText] = useState('');
  const box = useRef<HTMLInputElement>(null);

  const judge = (next: readonly string[]) => {
    const wrong = next.map((value) => validate(value)).find((problem) => problem !== undefined);
    const problem = wrong ?? (next.length > max ? `At most ${max}.` : undefined);
    box.current?.setCustomValidity(problem ?? '');
    report(problem);
    onChange(next);
  };
  const add = (typed: string) => {
    setText('');
    const pieces = new Set(typed.split(/[\s,;]+/));
    const fresh = [...pieces].filter((piece) => piece !== '' && !values.includes(piece));
    if (fresh.length > 0) judge([...values, ...fresh]);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (['Enter', ',', ' ', ';'].includes(event.key) && text.trim() !== '') {
      event.preventDefault();
      add(text);
    } else if (event.key === 'Backspace' && text === '' && values.length > 0) {
      setText(values.at(-1) ?? '');
      judge(values.slice(0, -1));
      event.preventDefault();
    }
  };
  const onPaste = (event: ClipboardEvent) => {
    const pasted = event.clipboardData.getData('text');
    if (!/[\s,;]/.test(pasted.trim())) return;
    event.preventDefault();
    add(text + pasted);
  };

  return (
    <div className={styles.box}>
      {values.map((one) => (
        <Chip
          key={one}
          text={one}
          wrong={validate(one) !== undefined}
          onRemove={() => {
            judge(values.filter((other) => other !== one));
            box.current?.focus();
          }}
        />
      ))}
      <input
        {...attributes}
        required={attributes.required && values.length === 0}
        ref={box}
        className={styles.input}
        value={text}
        placeholder={values.length === 0 ? placeholder : undefined}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
        onBlur={() => add(text)}
      />
    </div>
  );
}

interface ChipProps {
  readonly text: string;
  readonly wrong: boolean;
  readonly onRemove: () => void;
}

function Chip({ text, wrong, onRemove }: ChipProps): ReactNode {
  return (
    <span className={classNames(styles.chip, wrong && styles.wrong)}>
      {text}
      <button type="button" className={styles.remove} aria-label={`Remove ${text}`} onClick={onRemove}>
        <Icon name="close" />
      </button>
    </span>
  );
}
