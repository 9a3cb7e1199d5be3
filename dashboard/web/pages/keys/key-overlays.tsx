import { type ReactNode, type RefObject, useRef, useState } from 'react';
import type { CreatedKeyView, KeyView } from '#contract/keys.ts';
import { KEY_SETTINGS } from '#contract/shown-settings.ts';
import { Button, LinkButton } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { EmptyState, Skeleton } from '../../components/panels.tsx';
import { Badge, CodeLines, Count, Facts, Instant, LastTime, Muted } from '../../components/values.tsx';
import { briefSettings } from '../../format/format.ts';
import { maskedKey, SCOPE_LABELS, spendOf } from '../../keys/key-labels.ts';
import { Dialog } from '../../overlays/dialog.tsx';
import type { Url } from '../../search/use-url.ts';
import { useOrganization } from '../../shell/use-organization.tsx';
import type { KeysState } from '../searches.ts';
import { ExtendKeyDialog, ReplaceKeyDialog, RevokeKeyDialog } from './key-dialogs.tsx';
import { NEW_KEY } from './key-draft.ts';
import { CreateKeyDialog, EditKeyDialog } from './key-form-dialogs.tsx';
import { type KeyAction, mayExtend, mayReplace, type OnKeyAction, whyFixed } from './key-status.ts';
import styles from './keys.module.css';
import { KeySpend, type KeySpendProps, KeyState } from './keys-columns.tsx';
import { SecretDialog } from './secret-dialog.tsx';

interface KeyOverlaysProps {
  readonly keys: readonly KeyView[] | undefined;
  readonly url: Url<KeysState>;
  readonly action: KeyAction | undefined;
  readonly onAct: OnKeyAction;
  /** Gets the focus when the focused element is gone. */
  readonly createButton: RefObject<HTMLElement | null>;
}

/** Drawer and dialogs of the list. The URL has the open drawer, but not what is typed. */
export function KeyOverlays(props: KeyOverlaysProps): ReactNode {
  const { keys, url, action, onAct } = props;
  const { search, change } = url;
  const [draft, setDraft] = useState(NEW_KEY);
  const details = useRef<HTMLDivElement>(null);
  // The element that opened a dialog may be gone afterwards.
  const afterwards = search.key === undefined ? props.createButton : details;
  const [created, setCreated] = useState<CreatedKeyView>();
  const onCreated = (next: CreatedKeyView) => {
    setCreated(next);
    setDraft(NEW_KEY);
    onAct(undefined);
    change({ dialog: undefined });
  };
  const over = (
    <>
      {action && <ActionDialog {...props} action={action} onCreated={onCreated} afterwards={afterwards} />}
      {created && <SecretDialog created={created} onClose={() => setCreated(undefined)} finalFocus={afterwards} />}
    </>
  );
  return (
    <>
      <CreateKeyDialog
        open={search.dialog === 'create'}
        draft={draft}
        onDraft={setDraft}
        onClose={() => change({ dialog: undefined })}
        onCancel={() => {
          setDraft(NEW_KEY);
          change({ dialog: undefined });
        }}
        onCreated={onCreated}
      />
      <KeyDrawer id={search.key} keys={keys} onClose={() => change({ key: undefined })} onAct={onAct} details={details}>
        {/* Dialogs over the drawer are its children: otherwise a click in them would count as
            outside and close it. */}
        {search.key !== undefined && over}
      </KeyDrawer>
      {search.key === undefined && over}
    </>
  );
}

interface ActionDialogProps extends Pick<KeyOverlaysProps, 'onAct'> {
  readonly action: KeyAction;
  readonly onCreated: (created: CreatedKeyView) => void;
  readonly afterwards: RefObject<HTMLElement | null>;
}

function ActionDialog({ action, onAct, onCreated, afterwards }: ActionDialogProps): ReactNode {
  const { what, of } = action;
  const shared = { of, onClose: () => onAct(undefined) };
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

interface KeyDrawerProps {
  /** From the URL. */
  readonly id: string | undefined;
  /** Absent while loading. */
  readonly keys: readonly KeyView[] | undefined;
  readonly onClose: () => void;
  readonly onAct: OnKeyAction;
  readonly details: RefObject<HTMLDivElement | null>;
  readonly children: ReactNode;
}

function KeyDrawer({ id, keys, onClose, onAct, details, children }: KeyDrawerProps): ReactNode {
  const key = keys?.find((one) => one.id === id);
  return (
    <Dialog
      asDrawer
      open={id !== undefined}
      onClose={onClose}
      title={key?.name ?? 'API key'}
      description={key && <KeyLine of={key} />}
      footer={key && whyFixed(key) === undefined && <KeyButtons of={key} onAct={onAct} />}
    >
      <div ref={details} tabIndex={-1} className={styles.details}>
        {key ? <KeyDetails of={key} /> : <NoKey coming={keys === undefined} />}
      </div>
      {children}
    </Dialog>
  );
}

function KeyLine({ of: key }: { readonly of: KeyView }): ReactNode {
  return (
    <span className="badges">
      <code>{maskedKey(key)}</code>
      <KeyState of={key} />
      {key.scopes.map((scope) => (
        <Badge key={scope}>{scope}</Badge>
      ))}
    </span>
  );
}

function KeyButtons({ of: key, onAct }: { readonly of: KeyView } & Pick<KeyDrawerProps, 'onAct'>): ReactNode {
  return (
    <>
      <Button onClick={() => onAct({ what: 'revoke', of: key })}>Revoke</Button>
      {mayReplace(key) && <Button onClick={() => onAct({ what: 'replace', of: key })}>Replace</Button>}
      {mayExtend(key, Date.now()) && <Button onClick={() => onAct({ what: 'extend', of: key })}>Extend</Button>}
      <Button onClick={() => onAct({ what: 'edit', of: key })}>Edit</Button>
    </>
  );
}

function KeyDetails({ of: key }: { readonly of: KeyView }): ReactNode {
  const { id: organization } = useOrganization();
  const reason = whyFixed(key);
  return (
    <>
      <KeyFacts of={key} />
      <div className="row">
        <LinkButton to="/o/$organization/requests" params={{ organization }} search={{ key: [key.id] }} icon="requests">
          Requests
        </LinkButton>
        <LinkButton to="/o/$organization/overview" params={{ organization }} search={{ key: [key.id] }} icon="usage">
          Usage
        </LinkButton>
        <CopyButton text={key.id} what="key id" wide />
      </div>
      {reason && <p className="muted">{reason}</p>}
    </>
  );
}

function NoKey({ coming }: { readonly coming: boolean }): ReactNode {
  if (coming) return <Skeleton height="320px" />;
  return (
    <EmptyState icon="key" title="Key not found">
      Playground keys and old revoked keys are not listed. The link may also be for another organization.
    </EmptyState>
  );
}

function KeyFacts({ of: key }: { readonly of: KeyView }): ReactNode {
  const { note, scopes, models, ipRanges, expiresAtMs, revokedAtMs, lastUsedAtMs, lastAddress } = key;
  const spend = (period: KeySpendProps['period']) =>
    spendOf(key, period).spentNanoUsd !== undefined && <KeySpend of={key} period={period} />;
  return (
    <Facts
      of={{
        'Spent today': spend('day'),
        'Spent this month': spend('month'),
        'Spent in all': spend('lifetime'),
        Note: note !== undefined && <span className="stack">{note}</span>,
        'Last used': (
          <>
            <LastTime atMs={lastUsedAtMs} />
            {lastAddress !== undefined && <div className="muted">from {lastAddress}</div>}
          </>
        ),
        Scopes: scopes.map((scope) => SCOPE_LABELS[scope].title).join(', '),
        Models: models === undefined ? <Muted>All models</Muted> : <CodeLines of={models} />,
        Addresses: ipRanges === undefined ? <Muted>Any address</Muted> : <CodeLines of={ipRanges} />,
        Expires: expiresAtMs === undefined ? <Muted>Never</Muted> : <Instant atMs={expiresAtMs} show="full" />,
        Limits: <Limits of={key} />,
        [key.state === 'revoked' ? 'Revoked' : 'To be revoked']: revokedAtMs !== undefined && (
          <Instant atMs={revokedAtMs} show="full" />
        ),
        'Belongs to': key.createdBy ?? 'Organization (created by operator)',
        Created: <Instant atMs={key.createdAtMs} />,
        Id: <code>{key.id}</code>,
      }}
    />
  );
}

function Limits({ of: key }: { readonly of: KeyView }): ReactNode {
  const { requestsPerMinute, tokensPerMinute } = key;
  if (requestsPerMinute === undefined && tokensPerMinute === undefined) {
    return (
      <Muted>{briefSettings(KEY_SETTINGS, key).length === 0 ? 'Those of the organization' : 'Budgets only'}</Muted>
    );
  }
  return (
    <ul className="stack">
      {requestsPerMinute !== undefined && (
        <li>
          <Count value={requestsPerMinute} /> requests per minute
        </li>
      )}
      {tokensPerMinute !== undefined && (
        <li>
          <Count value={tokensPerMinute} /> tokens per minute
        </li>
      )}
    </ul>
  );
}
