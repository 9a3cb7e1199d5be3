import { type ReactNode, useState } from 'react';
import { MAX_NAME_CHARACTERS } from '#core/field-bounds.ts';
import { useSend } from '../api/queries.ts';
import { FormDialog, RequestDialog } from '../forms/form-dialog.tsx';
import { TextField } from '../forms/inputs.tsx';
import { type View, viewsPath } from '../search/use-views.ts';

export interface ViewDialogProps {
  readonly organization: string | undefined;
  readonly views: readonly View[];
  /** What is saved, or the view to rename or delete. */
  readonly what: Pick<View, 'page' | 'search'> | (View & { readonly act: 'rename' | 'delete' });
  readonly onClose: () => void;
}

/** Saves, renames or deletes a view. */
export function ViewDialog({ organization, views, what, onClose }: ViewDialogProps): ReactNode {
  const path = viewsPath(organization);
  const [name, setName] = useState('name' in what ? what.name : '');
  const done = { changes: [`GET ${path}`] as const, onDone: onClose };
  const create = useSend(`POST ${path}`, done);
  const change = useSend(`PATCH ${path}/:view`, done);
  if ('act' in what && what.act === 'delete')
    return (
      <RequestDialog
        title={`Delete the view “${what.name}”?`}
        submit="Delete view"
        endpoint={`DELETE ${path}/:view`}
        input={{ params: { view: what.id } }}
        changes={done.changes}
        onClose={onClose}
      >
        <p>It goes for everybody.</p>
      </RequestDialog>
    );
  const former = 'act' in what ? what : views.find((view) => view.mine && view.name === name.trim());
  const place = { page: what.page, search: what.search };
  const sending = former === undefined ? create : change;
  return (
    <FormDialog
      size="small"
      title={'act' in what ? 'Rename this view' : 'Save this view'}
      description={organization === undefined ? 'Every operator sees it.' : 'Everybody in the organization sees it.'}
      submit={'act' in what ? 'Rename view' : former ? 'Replace view' : 'Save view'}
      sending={sending}
      onSubmit={() =>
        former === undefined
          ? create.mutate({ body: { name, ...place } })
          : change.mutate({ params: { view: former.id }, body: 'act' in what ? { name } : place })
      }
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
    </FormDialog>
  );
}
