import { useState } from 'react';
import type { KeyView } from '#contract/keys.ts';
import type { ModelView } from '#contract/money.ts';
import type { OrganizationLimits } from '#contract/organization.ts';
import { useAsk } from '../../api/use-ask.ts';
import type { KeyDraft, KeyField } from './key-draft.ts';

/**
 * Limits and models for the form. Either may still be loading: the server checks the input anyway.
 */
export function useKeyFormFacts(organization: string): {
  readonly limits: OrganizationLimits | undefined;
  readonly models: readonly ModelView[] | undefined;
} {
  const params = { organization };
  const { data: view } = useAsk('GET /api/organizations/:organization', { params });
  const { data: available } = useAsk('GET /api/organizations/:organization/models', { params });
  return { limits: view?.limits, models: available?.models };
}

export interface FieldProblems {
  readonly problems: Partial<Record<KeyField, string>>;
  readonly found: (problems: Partial<Record<KeyField, string>>) => void;
  /** Drops the problem of a field that has changed. */
  readonly changed: (before: KeyDraft, after: KeyDraft) => void;
}

export function useFieldProblems(): FieldProblems {
  const [problems, found] = useState<Partial<Record<KeyField, string>>>({});
  const changed = (before: KeyDraft, after: KeyDraft) =>
    found((all) =>
      Object.fromEntries(
        Object.entries(all).filter(([field]) => before[field as KeyField] === after[field as KeyField]),
      ),
    );
  return { problems, found, changed };
}

export interface KeyFieldsProps {
  readonly draft: KeyDraft;
  readonly onChange: (draft: KeyDraft) => void;
  readonly problems: Partial<Record<KeyField, string>>;
  /** Absent while loading. */
  readonly limits: OrganizationLimits | undefined;
  readonly models: readonly ModelView[] | undefined;
  /** The edited key. */
  readonly before?: KeyView | undefined;
}
