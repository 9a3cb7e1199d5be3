import { type ReactNode, type RefObject, useState } from 'react';
import type { CreatedKeyView } from '#contract/keys.ts';
import { Button } from '../../components/button.tsx';
import { CopyBox } from '../../components/copy.tsx';
import { Connect } from '../../connect/connect.tsx';
import { ConfirmDialog } from '../../forms/form-dialog.tsx';
import { useLeaveBlocker } from '../../forms/page-form.tsx';
import { Dialog } from '../../overlays/dialog.tsx';

interface SecretDialogProps {
  readonly created: CreatedKeyView;
  readonly onClose: () => void;
  readonly finalFocus: RefObject<HTMLElement | null> | undefined;
}

/** Shows a key once. Until it is copied, Escape does nothing, and navigation and reload ask. */
export function SecretDialog({ created, onClose, finalFocus }: SecretDialogProps): ReactNode {
  const [copied, setCopied] = useState(false);
  const [asking, setAsking] = useState(false);
  // Only text with the secret counts. The base URL and code that reads the key from the environment
  // do not.
  const noteCopied = (text: string) => text.includes(created.secret) && setCopied(true);
  const blocker = useLeaveBlocker(!copied);
  const blocked = blocker.status === 'blocked';
  return (
    <Dialog
      mustAnswer
      size="large"
      finalFocus={finalFocus}
      onClose={onClose}
      title={`Your new key “${created.key.name}”`}
      description="Copy it now and store it with your application’s secrets. You will not see it again. A lost key can only be replaced."
      footer={
        <Button tone="primary" onClick={() => (copied ? onClose() : setAsking(true))}>
          Done, I saved it
        </Button>
      }
    >
      {/* Copying by hand counts too. */}
      <div className="parts" onCopy={() => noteCopied(String(getSelection()))}>
        <CopyBox text={created.secret} what="key" onCopied={noteCopied} />
        <Connect created={created} onCopied={noteCopied} />
      </div>
      <ConfirmDialog
        open={asking || blocked}
        onClose={() => {
          setAsking(false);
          if (blocked) blocker.reset();
        }}
        title="Close without copying the key?"
        submit="Close without copying"
        onSubmit={() => {
          onClose();
          if (blocked) blocker.proceed();
        }}
      >
        You have not copied the key. It cannot be shown again, so you would have to replace it.
      </ConfirmDialog>
    </Dialog>
  );
}
