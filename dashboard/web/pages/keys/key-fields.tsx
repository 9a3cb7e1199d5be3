import type { ReactNode } from 'react';
import type { ScopeName } from '#contract/keys.ts';
import { MAX_NOTE_CHARACTERS } from '#core/field-bounds.ts';
import { Checkbox } from '../../forms/choices.tsx';
import { Field } from '../../forms/field.tsx';
import { TextInput } from '../../forms/text-input.tsx';
import { SCOPE_LABELS } from '../../keys/key-labels.ts';
import type { KeyFieldsProps } from './key-form.ts';
import { AddressSection, ExpirySection, LimitSection, ModelSection } from './key-sections.tsx';
import styles from './keys.module.css';

const SCOPES = Object.keys(SCOPE_LABELS) as ScopeName[];

/** All settings of a key: common ones first, restrictions in sections below. */
export function KeyFields(props: KeyFieldsProps): ReactNode {
  const { draft, onChange, problems } = props;
  return (
    <>
      <Field label="Name" required error={problems.name} hint="Says what uses it, such as “Backend production”.">
        <TextInput
          value={draft.name}
          onChange={(name) => onChange({ ...draft, name })}
          maxLength={200}
          autoComplete="off"
        />
      </Field>
      <Field label="Note" error={problems.note} hint="For people only, such as who to ask. No provider sees it.">
        <TextInput
          value={draft.note}
          onChange={(note) => onChange({ ...draft, note })}
          maxLength={MAX_NOTE_CHARACTERS}
          autoComplete="off"
        />
      </Field>
      <fieldset className={styles.scopes}>
        <legend>Scopes</legend>
        {SCOPES.map((scope) => (
          <Checkbox
            key={scope}
            label={SCOPE_LABELS[scope].title}
            hint={SCOPE_LABELS[scope].means}
            checked={draft.scopes.includes(scope)}
            onChange={(checked) =>
              onChange({
                ...draft,
                scopes: SCOPES.filter((one) => (one === scope ? checked : draft.scopes.includes(one))),
              })
            }
          />
        ))}
        {problems.scopes && (
          <div role="alert" className={styles.problem}>
            {problems.scopes}
          </div>
        )}
      </fieldset>
      <div>
        <h3 className={styles.heading}>Restrictions</h3>
        <div className={styles.restrictions}>
          <ModelSection {...props} />
          <AddressSection {...props} />
          <ExpirySection {...props} />
          <LimitSection {...props} />
        </div>
      </div>
    </>
  );
}
