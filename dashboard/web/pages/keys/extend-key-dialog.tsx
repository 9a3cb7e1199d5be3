import { type ReactNode, useState } from 'react';
import { useSend } from '../../api/use-send.ts';
import { useFinish } from '../../components/toast.tsx';
import { formatInstant } from '../../format/format-instant.ts';
import { FormDialog } from '../../forms/form-dialog.tsx';
import { ExpiryFields } from './expiry-fields.tsx';
import { expiryOf } from './key-choices.ts';
import type { KeyDialogProps } from './key-form-dialogs.tsx';

const USUAL = '90d';

/** A later expiry for a key that expires soon or has expired. */
export function ExtendKeyDialog({ organization, of: key, onClose }: KeyDialogProps): ReactNode {
  const finish = useFinish(onClose);
  const [expiresAtMs, setExpiresAtMs] = useState(() => expiryOf(USUAL, Date.now()));
  const extend = useSend('PATCH /api/organizations/:organization/keys/:key', {
    changes: ['GET /api/organizations/:organization/keys'],
    onDone: (changed) =>
      finish(
        changed.expiresAtMs === undefined
          ? `Key “${changed.name}” works until it is revoked.`
          : `Key “${changed.name}” works until ${formatInstant(changed.expiresAtMs)}.`,
      ),
  });
  return (
    <FormDialog
      onClose={onClose}
      title={`Extend “${key.name}”`}
      description="The same key works longer; nothing changes for the application that uses it. Replace it instead if its secret should change."
      submit="Extend key"
      sending={extend}
      onSubmit={() =>
        extend.mutate({ params: { organization, key: key.id }, body: { expiresAtMs: expiresAtMs ?? null } })
      }
    >
      <ExpiryFields
        initial={USUAL}
        expiresAtMs={expiresAtMs}
        onChange={setExpiresAtMs}
        problem={extend.error?.fields.expiresAtMs}
      />
    </FormDialog>
  );
}
