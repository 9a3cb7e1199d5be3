import type { ReactNode } from 'react';
import { Button } from '../../components/button.tsx';
import { CopyBox } from '../../components/copy-button.tsx';
import { Dialog } from '../../overlays/dialog.tsx';

export interface SecretDialogProps {
  readonly secret: string;
  readonly onClose: () => void;
}

export function SecretDialog({ secret, onClose }: SecretDialogProps): ReactNode {
  return (
    <Dialog
      open
      mustAnswer
      onClose={onClose}
      title="Secret of the webhook"
      description="Your receiver checks the signature of each message with it (Standard Webhooks)."
      footer={
        <Button tone="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <CopyBox text={secret} what="secret" />
      <p className="muted">It is not shown again. A new secret replaces it at once.</p>
    </Dialog>
  );
}
