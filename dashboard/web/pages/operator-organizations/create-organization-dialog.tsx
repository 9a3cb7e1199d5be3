import { type ReactNode, useState } from 'react';
import type { OrganizationView } from '#contract/organization.ts';
import { useSend } from '../../api/use-send.ts';
import { Field } from '../../forms/field.tsx';
import { FormDialog } from '../../forms/form-dialog.tsx';
import { MoneyInput } from '../../forms/number-inputs.tsx';
import { newOrganization, newReference, type OrganizationDraft } from '../../organizations/organization-drafts.ts';
import { LimitFields, NameField, PriceListField } from '../../organizations/organization-fields.tsx';

export interface CreateOrganizationDialogProps {
  /** Kept by the page, so that an accidentally closed dialog loses nothing. */
  readonly draft: OrganizationDraft;
  readonly onDraft: (draft: OrganizationDraft) => void;
  readonly onClose: () => void;
  readonly onCreated: (organization: OrganizationView) => void;
}

export function CreateOrganizationDialog(props: CreateOrganizationDialogProps): ReactNode {
  const { draft, onDraft, onClose, onCreated } = props;
  const [reference] = useState(newReference);
  const create = useSend('POST /api/organizations', { changes: ['GET /api/organizations'], onDone: onCreated });
  const fields = { draft, onChange: onDraft, problems: create.error?.fields ?? {} };
  return (
    <FormDialog
      onClose={onClose}
      title="New organization"
      description="All of it can be changed later, and credit can be added at any time."
      submit="Create organization"
      sending={create}
      onSubmit={() => create.mutate({ body: newOrganization(draft, reference) })}
    >
      <NameField {...fields} />
      <Field label="Opening credit" error={fields.problems.creditNanoUsd}>
        <MoneyInput
          value={draft.creditNanoUsd}
          onChange={(creditNanoUsd) => onDraft({ ...draft, creditNanoUsd })}
          placeholder="0.00"
        />
      </Field>
      <LimitFields {...fields} />
      <PriceListField {...fields} />
    </FormDialog>
  );
}
