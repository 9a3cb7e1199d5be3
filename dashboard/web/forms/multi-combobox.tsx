import { Combobox } from '@base-ui/react/combobox';
import { type ReactNode, useRef } from 'react';
import { Icon } from '../components/icon.tsx';
import styles from './chips.module.css';
import { useFieldControl } from './field.tsx';

export interface ComboboxChoice {
  readonly value: string;
  readonly label: string;
  readonly detail?: string;
}

export interface MultiComboboxProps {
  readonly choices: readonly ComboboxChoice[];
  readonly value: readonly string[] | undefined;
  readonly onChange: (value: readonly string[]) => void;
  readonly placeholder?: string;
}

/** Chooses values of a list by typing. Chosen values that left the list stay removable. */
export function MultiCombobox({ choices, value: values = [], onChange, placeholder }: MultiComboboxProps): ReactNode {
  const { attributes, labelId } = useFieldControl();
  const box = useRef<HTMLDivElement>(null);
  const known = new Map(choices.map((choice) => [choice.value, choice]));
  const chosen = values.map((value) => known.get(value) ?? { value, label: value });
  return (
    <Combobox.Root
      items={choices}
      multiple
      value={chosen}
      isItemEqualToValue={(a, b) => a.value === b.value}
      onValueChange={(next, details) => {
        // Escape should only close the surrounding dialog. By default it would also clear all
        // values, unnoticed.
        if (details.reason === 'escape-key') details.allowPropagation();
        else onChange(next.map(({ value }) => value));
      }}
    >
      <Combobox.InputGroup ref={box} className={styles.box}>
        <Combobox.Chips className="contents">
          {chosen.map(({ value, label }) => (
            <Combobox.Chip key={value} className={styles.chip} aria-label={label}>
              {label}
              <Combobox.ChipRemove className={styles.remove} aria-label={`Remove ${label}`}>
                <Icon name="close" />
              </Combobox.ChipRemove>
            </Combobox.Chip>
          ))}
          <Combobox.Input
            {...attributes}
            required={false}
            // The open list hides everything else from screen readers, including the label. A
            // reference to it still works.
            aria-labelledby={labelId}
            className={styles.input}
            placeholder={values.length === 0 ? placeholder : undefined}
          />
        </Combobox.Chips>
      </Combobox.InputGroup>
      <Combobox.Portal>
        <Combobox.Positioner className={styles.positioner} anchor={box} sideOffset={4}>
          <Combobox.Popup className={styles.popup}>
            <Combobox.Empty className={styles.none}>No match.</Combobox.Empty>
            <Combobox.List>
              {(choice: ComboboxChoice) => (
                <Combobox.Item key={choice.value} value={choice} className={styles.option}>
                  <span className={styles.optionLabel}>{choice.label}</span>
                  {choice.detail && <span className="muted small">{choice.detail}</span>}
                  <Combobox.ItemIndicator>
                    <Icon name="check" />
                  </Combobox.ItemIndicator>
                </Combobox.Item>
              )}
            </Combobox.List>
          </Combobox.Popup>
        </Combobox.Positioner>
      </Combobox.Portal>
    </Combobox.Root>
  );
}
