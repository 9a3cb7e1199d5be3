import { type ReactNode, useState } from 'react';
import type { CreatedKeyView, KeyView } from '#contract/keys.ts';
import { useSend } from '../../api/use-send.ts';
import { useFinish } from '../../components/toast.tsx';
import { FormDialog } from '../../forms/form-dialog.tsx';
import { changeOf, draftOf, draftProblems, isEmptyChange, type KeyDraft, restrictionsOf } from './key-draft.ts';
import { KeyFields } from './key-fields.tsx';
import { useFieldProblems, useKeyFormFacts } from './key-form.ts';

export interface CreateKeyDialogProps {
  readonly organization: string;
  readonly open: boolean;
  /** Kept by the page, so that an accidentally closed dialog loses nothing. */
  readonly draft: KeyDraft;
  readonly onDraft: (draft: KeyDraft) => void;
  readonly onClose: () => void;
  readonly onCancel: () => void;
  readonly onCreated: (created: CreatedKeyView) => void;
}

export function CreateKeyDialog(props: CreateKeyDialogProps): ReactNode {
  const { organization, draft, onDraft, onCreated } = props;
  const facts = useKeyFormFacts(organization);
  const fields = useFieldProblems();
  const create = useSend('POST /api/organizations/:organization/keys', {
    changes: ['GET /api/organizations/:organization/keys'],
    onDone: onCreated,
  });
  const close = (then: () => void) => {
    create.reset();
    fields.found({});
    then();
  };
  const submit = () => {
    const problems = draftProblems(draft, Date.now());
    fields.found(problems);
    if (Object.keys(problems).length > 0) return;
    const input = { params: { organization }, body: restrictionsOf(draft) };
    create.mutate(input, { onError: (problem) => fields.found(problem.fields) });
  };
  return (
    <FormDialog
      open={props.open}
      onClose={() => close(props.onClose)}
      title="Create an API key"
      description="One key for each application and environment: each can then be restricted, watched and revoked by itself."
      submit="Create key"
      sending={create}
      onCancel={() => close(props.onCancel)}
      onSubmit={submit}
    >
      <KeyFields
        {...facts}
        draft={draft}
        problems={fields.problems}
        onChange={(next) => {
          fields.changed(draft, next);
          onDraft(next);
        }}
      />
    </FormDialog>
  );
}

export interface KeyDialogProps {
  readonly organization: string;
  /** As it was when the dialog opened, so that concurrent changes are not overwritten. */
  readonly of: KeyView;
  readonly onClose: () => void;
}

export function EditKeyDialog({ organization, of: key, onClose }: KeyDialogProps): ReactNode {
  const finish = useFinish(onClose);
  const facts = useKeyFormFacts(organization);
  const fields = useFieldProblems();
  const [draft, setDraft] = useState(() => draftOf(key));
  const edit = useSend('PATCH /api/organizations/:organization/keys/:key', {
    changes: ['GET /api/organizations/:organization/keys'],
    onDone: ({ name }) => finish(`Key “${name}” changed. The change applies to the next request.`),
  });
  const submit = () => {
    const problems = draftProblems(draft, Date.now(), key);
    fields.found(problems);
    if (Object.keys(problems).length > 0) return;
    const body = changeOf(key, draft);
    if (isEmptyChange(body)) return onClose();
    edit.mutate(
      { params: { organization, key: key.id }, body },
      { onError: (problem) => fields.found(problem.fields) },
    );
  };
  return (
    <FormDialog
      onClose={onClose}
      title={`Edit “${key.name}”`}
      description="Changes apply to every request that begins after they are saved."
      submit="Save changes"
      sending={edit}
      onSubmit={submit}
    >
      <KeyFields
        {...facts}
        before={key}
        draft={draft}
        problems={fields.problems}
        onChange={(next) => {
          fields.changed(draft, next);
          setDraft(next);
        }}
      />
    </FormDialog>
  );
}
