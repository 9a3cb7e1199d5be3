import { type ReactNode, useId, useState } from 'react';
import type { OrganizationView } from '../../contract/organization.ts';
import { useSend } from '../api/use-send.ts';
import { Button } from '../components/button.tsx';
import { useToast } from '../components/toast.tsx';
import { Form } from '../forms/form.tsx';
import { Dialog } from '../overlays/dialog.tsx';
import { draftOf, organizationChange } from './organization-draft.ts';
import { LimitFields, NameField } from './organization-fields.tsx';

export interface OrganizationDialogProps {
  readonly organization: OrganizationView;
  readonly onClose: () => void;
}

export function EditOrganizationDialog({ organization, onClose }: OrganizationDialogProps): ReactNode {
  const form = useId();
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
    <Dialog
      open
      onClose={onClose}
      title={`Edit ${organization.name}`}
      description="New limits are in force for the next request. An empty box lifts a limit."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={form} tone="primary" busy={edit.isPending}>
            Save
          </Button>
        </>
      }
    >
      <Form id={form} problem={edit.error} onSubmit={submit}>
        <NameField {...fields} />
        <LimitFields {...fields} />
      </Form>
    </Dialog>
  );
}
