import { type ReactNode, useState } from 'react';
import { MAX_NAME_CHARACTERS } from '#core/field-bounds.ts';
import { useOrganizationOfPage, useSend } from '../api/queries.ts';
import { Button } from '../components/button.tsx';
import { useFailureToast } from '../components/toast.tsx';
import { FormDialog } from '../forms/form-dialog.tsx';
import { TextField } from '../forms/inputs.tsx';
import { type View, viewsPath } from '../search/use-views.ts';

export interface ViewDialogProps {
  readonly views: readonly View[];
  /** The filters to save, or a view to edit. */
  readonly what: Pick<View, 'page' | 'search'> & Partial<View>;
  readonly onClose: () => void;
}

/** Saves a view, replacing another one of the same name. Also renames and deletes views. */
export function ViewDialog({ views, what, onClose }: ViewDialogProps): ReactNode {
  const organization = useOrganizationOfPage();
  const { id, page, search } = what;
  const [name, setName] = useState(what.name ?? '');
  const path = viewsPath(organization);
  const done = { onDone: onClose };
  const create = useSend(`POST ${path}`, done);
  const change = useSend(`PATCH ${path}/:view`, done);
  const remove = useSend(`DELETE ${path}/:view`, { ...done, onFailed: useFailureToast() });
  const view = id ?? views.find((one) => one.mine && one.name === name.trim())?.id;
  const sending = view === undefined ? create : change;
  const save = () =>
    view === undefined
      ? create.mutate({ body: { name, page, search } })
      : change.mutate({ params: { view }, body: id === undefined ? { page, search } : { name } });
  return (
    <FormDialog
      size="small"
      title={id === undefined ? 'Save this view' : 'Edit this view'}
      description={organization === undefined ? 'Every operator sees it.' : 'Everyone in the organization sees it.'}
      submit={view === undefined ? 'Save view' : id === undefined ? 'Replace view' : 'Rename view'}
      sending={sending}
      onSubmit={save}
      onClose={onClose}
    >
      <TextField
        label="Name"
        required
        maxLength={MAX_NAME_CHARACTERS}
        value={name}
        onChange={setName}
        error={sending.error?.fields.name}
      />
      {id !== undefined && (
        <Button tone="danger" busy={remove.isPending} onClick={() => remove.mutate({ params: { view: id } })}>
          Delete for everyone
        </Button>
      )}
    </FormDialog>
  );
}
