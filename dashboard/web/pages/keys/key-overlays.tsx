import { type ReactNode, type RefObject, useRef, useState } from 'react';
import type { CreatedKeyView, KeyView } from '#contract/keys.ts';
import { KEY_SETTINGS } from '#contract/shown-settings.ts';
import { serverMs } from '../../api/server-clock.ts';
import { Button, LinkButton } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { EmptyState, Skeleton } from '../../components/panels.tsx';
import { CodeLines, Count, Facts, Instant, LastTime, Muted } from '../../components/values.tsx';
import { briefSettings } from '../../format/format.ts';
import { maskedKey, type Period, SCOPE_LABELS, spendOf } from '../../keys/key-labels.ts';
import { Dialog, useOverlay } from '../../overlays/dialog.tsx';
import type { MenuAction } from '../../overlays/menu-popup.tsx';
import type { Url } from '../../search/use-url.ts';
import type { KeysState } from '../searches.ts';
import { ExtendKeyDialog, ReplaceKeyDialog, RevokeKeyDialog } from './key-dialogs.tsx';
import { NEW_KEY } from './key-draft.ts';
import { CreateKeyDialog, EditKeyDialog } from './key-form-dialogs.tsx';
import { mayExtend, mayReplace, whyFixed } from './key-status.ts';
import styles from './keys.module.css';
import { EXTEND, type KeyActions, KeySpend, KeyState } from './keys-columns.tsx';
import { SecretDialog } from './secret-dialog.tsx';

interface KeyOverlaysProps {
  /** Absent while loading. */
  readonly keys: readonly KeyView[] | undefined;
  readonly url: Url<KeysState>;
  /** Gets the focus if the focused element no longer exists. */
  readonly createButton: RefObject<HTMLElement | null>;
}

/** The list's drawer, dialogs and key actions. The URL has the open drawer, but no typed text. */
export function useKeyOverlays(props: KeyOverlaysProps): readonly [overlays: ReactNode, actionsOf: KeyActions] {
  const { keys, url, createButton } = props;
  const { search, change } = url;
  const [draft, setDraft] = useState(NEW_KEY);
  const details = useRef<HTMLDivElement>(null);
  // The element that opened a dialog may no longer exist afterwards.
  const afterwards = search.key === undefined ? createButton : details;
  const [overlay, open] = useOverlay();
  const onCancel = () => {
    setDraft(NEW_KEY);
    change({ dialog: undefined });
  };
  const onCreated = (created: CreatedKeyView) => {
    onCancel();
    open((onClose) => <SecretDialog created={created} onClose={onClose} finalFocus={afterwards} />);
  };
  const actionsOf: KeyActions = (of) => {
    if (whyFixed(of) !== undefined) return [];
    const edit = () => open((onClose) => <EditKeyDialog of={of} onClose={onClose} />);
    const extend = () => open((onClose) => <ExtendKeyDialog of={of} onClose={onClose} />);
    const replace = () => open((onClose) => <ReplaceKeyDialog of={of} onClose={onClose} onCreated={onCreated} />);
    const revoke = () => open((onClose) => <RevokeKeyDialog of={of} onClose={onClose} afterwards={afterwards} />);
    return [
      { label: 'Edit', icon: 'edit', onSelect: edit },
      ...(mayExtend(of, serverMs()) ? [{ label: EXTEND, icon: 'plus', onSelect: extend } as const] : []),
      { label: 'Replace', icon: 'refresh', disabled: !mayReplace(of), onSelect: replace },
      { label: 'Revoke', icon: 'trash', tone: 'bad', onSelect: revoke },
    ];
  };
  const key = keys?.find(({ id }) => id === search.key);
  const overlays = (
    <>
      {search.dialog === 'create' && (
        <CreateKeyDialog
          draft={draft}
          onDraft={setDraft}
          onClose={() => change({ dialog: undefined })}
          onCancel={onCancel}
          onCreated={onCreated}
        />
      )}
      <Dialog
        asDrawer
        open={search.key !== undefined}
        onClose={() => change({ key: undefined })}
        title={key?.name ?? 'API key'}
        description={key && <KeyLine of={key} />}
        footer={key && whyFixed(key) === undefined && <KeyButtons actions={actionsOf(key)} />}
      >
        <div ref={details} tabIndex={-1} className={styles.details}>
          {key ? <KeyDetails of={key} /> : <NoKey coming={keys === undefined} />}
        </div>
        {/* Dialogs over the drawer are its children. Otherwise a click in them would count as
            outside and close the drawer. */}
        {search.key !== undefined && overlay}
      </Dialog>
      {search.key === undefined && overlay}
    </>
  );
  return [overlays, actionsOf];
}

function KeyLine({ of: key }: { readonly of: KeyView }): ReactNode {
  return (
    <span className="badges">
      <code>{maskedKey(key)}</code>
      <KeyState of={key} />
    </span>
  );
}

/** The main button is last. */
function KeyButtons({ actions }: { readonly actions: readonly MenuAction[] }): ReactNode {
  return actions.toReversed().map(
    ({ label, disabled, onSelect }) =>
      !disabled && (
        <Button key={label} onClick={onSelect}>
          {label}
        </Button>
      ),
  );
}

function KeyDetails({ of: key }: { readonly of: KeyView }): ReactNode {
  const reason = whyFixed(key);
  return (
    <>
      <KeyFacts of={key} />
      <div className="row">
        <LinkButton from="/o/$organization" to="/o/$organization/requests" search={{ key: [key.id] }} icon="requests">
          Requests
        </LinkButton>
        <LinkButton from="/o/$organization" to="/o/$organization/overview" search={{ key: [key.id] }} icon="usage">
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
  const { requestsPerMinute, tokensPerMinute } = KEY_SETTINGS;
  const spend = (period: Period) =>
    spendOf(key, period).spentNanoUsd !== undefined && <KeySpend of={key} period={period} />;
  return (
    <Facts
      of={{
        'Spent today': spend('day'),
        'Spent this month': spend('month'),
        'Spent in total': spend('lifetime'),
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
        [requestsPerMinute.label]: key.requestsPerMinute !== undefined && <Count value={key.requestsPerMinute} />,
        [tokensPerMinute.label]: key.tokensPerMinute !== undefined && <Count value={key.tokensPerMinute} />,
        Limits: briefSettings(KEY_SETTINGS, key).length === 0 && <Muted>Same as the organization</Muted>,
        [key.state === 'revoked' ? 'Revoked' : 'To be revoked']: revokedAtMs !== undefined && (
          <Instant atMs={revokedAtMs} show="full" />
        ),
        'Belongs to': key.createdBy ?? 'Command line',
        Created: <Instant atMs={key.createdAtMs} />,
        Id: <code>{key.id}</code>,
      }}
    />
  );
}
