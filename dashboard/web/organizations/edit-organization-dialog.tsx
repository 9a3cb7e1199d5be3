import { type ReactNode, useState } from 'react';
import type { OrganizationView } from '../../contract/organization.ts';
import { useSend } from '../api/use-send.ts';
import { useToast } from '../components/toast.tsx';
import { FormDialog } from '../forms/form-dialog.tsx';
import { draftOf, organizationChange } from './organization-draft.ts';
import { LimitFields, NameField } from './organization-fields.tsx';

export interface OrganizationDialogProps {
  readonly organization: OrganizationView;
  readonly onClose: () => void;
}

export function EditOrganizationDialog({ organization, onClose }: OrganizationDialogProps): ReactNode {
  // As it was when the dialog was opened: the page goes on asking behind it.
  const [before] = useState(() => draftOf(organization));
  const [draft, setDraft] = useState(before);
  const toast = useToast();
  const edit = useSend('PATCH /api/organizations/:organization', {
    onDone: ({ name }) => {
      toast({ tone: 'good', text: `${name} was changed` });
      onClose();
    },
  });
  const submit = () => {
    const body = organizationChange(before, draft);
    if (Object.keys(body).length === 0) onClose();
    else edit.mutate({ params: { organization: organization.id }, body });
  };
  const fields = { draft, onChange: setDraft, problems: edit.error?.fields ?? {} };
  return (
    <FormDialog
      onClose={onClose}
      title={`Edit ${organization.name}`}
      description="New limits are in force for the next request. An empty box lifts a limit."
      submit="Save"
      busy={edit.isPending}
      problem={edit.error}
      onSubmit={submit}
    >
      <NameField {...fields} />
      <LimitFields {...fields} />
    </FormDialog>
  );
}
