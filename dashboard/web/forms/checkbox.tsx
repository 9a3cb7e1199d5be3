import { type ReactNode, useId } from 'react';
import styles from './choice.module.css';

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
