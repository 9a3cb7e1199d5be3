import type { ReactNode } from 'react';
import type { KeyView, ScopeName } from '../../../contract/keys.ts';
import type { ModelView } from '../../../contract/money.ts';
import type { OrganizationLimits } from '../../../contract/organization.ts';
import { Checkbox } from '../../forms/checkbox.tsx';
import { Field } from '../../forms/field.tsx';
import { TextInput } from '../../forms/text-input.tsx';
import type { KeyDraft, KeyField } from './key-draft.ts';
import { AddressSection, ExpirySection, LimitSection, ModelSection } from './key-sections.tsx';
import { SCOPE_WORDS } from './key-words.ts';
import styles from './keys.module.css';

export interface KeyFieldsProps {
  readonly draft: KeyDraft;
  readonly onChange: (draft: KeyDraft) => void;
  readonly problems: Partial<Record<KeyField, string>>;
  /** Absent: not known yet. */
  readonly limits: OrganizationLimits | undefined;
  readonly models: readonly ModelView[] | undefined;
  /** The key that is edited. */
  readonly before?: KeyView | undefined;
}

const SCOPES = Object.keys(SCOPE_WORDS) as ScopeName[];

/** Everything that can be chosen of a key: what nearly everybody chooses first, restrictions in sections below. */
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
      <fieldset className={styles.scopes}>
        <legend>Scopes</legend>
        {SCOPES.map((scope) => (
          <Checkbox
            key={scope}
            label={SCOPE_WORDS[scope].title}
            hint={SCOPE_WORDS[scope].means}
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
