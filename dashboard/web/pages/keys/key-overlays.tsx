import { type ReactNode, type RefObject, useRef, useState } from 'react';
import type { CreatedKeyView, KeyView } from '#contract/keys.ts';
import { ExtendKeyDialog } from './extend-key-dialog.tsx';
import { NEW_KEY } from './key-draft.ts';
import { KeyDrawer } from './key-drawer.tsx';
import { CreateKeyDialog, EditKeyDialog } from './key-form-dialogs.tsx';
import type { KeyAction, OnKeyAction } from './key-status.ts';
import type { KeysUrlState } from './keys-url.ts';
import { ReplaceKeyDialog } from './replace-key-dialog.tsx';
import { RevokeKeyDialog } from './revoke-key-dialog.tsx';
import { SecretDialog } from './secret-dialog.tsx';

export interface KeyOverlaysProps {
  readonly organization: string;
  readonly keys: readonly KeyView[] | undefined;
  readonly search: KeysUrlState;
  readonly onChange: (next: Partial<KeysUrlState>) => void;
  readonly action: KeyAction | undefined;
  readonly onAct: OnKeyAction;
  /** Gets the focus when the focused element is gone. */
  readonly createButton: RefObject<HTMLElement | null>;
}

/** Drawer and dialogs of the list. The URL has the open drawer, but not what is typed. */
export function KeyOverlays(props: KeyOverlaysProps): ReactNode {
  const { organization, keys, search, onChange, action, onAct } = props;
  const [draft, setDraft] = useState(NEW_KEY);
  const details = useRef<HTMLDivElement>(null);
  // The element that opened a dialog may be gone afterwards.
  const afterwards = search.key === undefined ? props.createButton : details;
  const [created, setCreated] = useState<CreatedKeyView>();
  const onCreated = (next: CreatedKeyView) => {
    setCreated(next);
    setDraft(NEW_KEY);
    onAct(undefined);
    onChange({ dialog: undefined });
  };
  const over = (
    <>
      {action && <ActionDialog {...props} action={action} onCreated={onCreated} afterwards={afterwards} />}
      {created && (
        <SecretDialog
          organization={organization}
          created={created}
          onClose={() => setCreated(undefined)}
          finalFocus={afterwards}
        />
      )}
    </>
  );
  return (
    <>
      <CreateKeyDialog
        organization={organization}
        open={search.dialog === 'create'}
        draft={draft}
        onDraft={setDraft}
        onClose={() => onChange({ dialog: undefined })}
        onCancel={() => {
          setDraft(NEW_KEY);
          onChange({ dialog: undefined });
        }}
        onCreated={onCreated}
      />
      <KeyDrawer
        organization={organization}
        id={search.key}
        keys={keys}
        onClose={() => onChange({ key: undefined })}
        onAct={onAct}
        details={details}
      >
        {/* Dialogs over the drawer are its children: otherwise a click in them would count as
            outside and close it. */}
        {search.key !== undefined && over}
      </KeyDrawer>
      {search.key === undefined && over}
    </>
  );
}

interface ActionDialogProps extends Pick<KeyOverlaysProps, 'organization' | 'onAct'> {
  readonly action: KeyAction;
  readonly onCreated: (created: CreatedKeyView) => void;
  readonly afterwards: RefObject<HTMLElement | null>;
}

function ActionDialog({ organization, action, onAct, onCreated, afterwards }: ActionDialogProps): ReactNode {
  const { what, of } = action;
  const shared = { organization, of, onClose: () => onAct(undefined) };
  switch (what) {
    case 'edit':
      return <EditKeyDialog {...shared} />;
    case 'extend':
      return <ExtendKeyDialog {...shared} />;
    case 'replace':
      return <ReplaceKeyDialog {...shared} onCreated={onCreated} />;
    case 'revoke':
      return <RevokeKeyDialog {...shared} afterwards={afterwards} />;
  }
}
