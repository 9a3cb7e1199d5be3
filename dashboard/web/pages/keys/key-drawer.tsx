import type { ReactNode, RefObject } from 'react';
import type { KeyView } from '#contract/keys.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, LinkButton } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Fact, Facts, Muted } from '../../components/facts.tsx';
import { Count, Instant, LastTime } from '../../components/figures.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { EmptyState } from '../../components/states.tsx';
import { limitLabels, maskedKey, SCOPE_LABELS } from '../../keys/key-labels.ts';
import { Drawer } from '../../overlays/dialog.tsx';
import { KeySpend, KeyState } from './key-cells.tsx';
import { mayExtend, mayReplace, type OnKeyAction, whyFixed } from './key-status.ts';
import styles from './keys.module.css';

export interface KeyDrawerProps {
  readonly organization: string;
  /** From the URL. */
  readonly id: string | undefined;
  /** Absent while loading. */
  readonly keys: readonly KeyView[] | undefined;
  readonly onClose: () => void;
  readonly onAct: OnKeyAction;
  readonly details: RefObject<HTMLDivElement | null>;
  /** Overlays above the drawer. */
  readonly children: ReactNode;
}

/** All about one key, beside the list. */
export function KeyDrawer({ organization, id, keys, onClose, onAct, details, children }: KeyDrawerProps): ReactNode {
  const key = keys?.find((one) => one.id === id);
  return (
    <Drawer
      open={id !== undefined}
      onClose={onClose}
      title={key?.name ?? 'API key'}
      description={key && <KeyLine of={key} />}
      footer={key && whyFixed(key) === undefined && <KeyButtons of={key} onAct={onAct} />}
    >
      <div ref={details} tabIndex={-1} className={styles.details}>
        {key ? <KeyDetails organization={organization} of={key} /> : <NoKey coming={keys === undefined} />}
      </div>
      {children}
    </Drawer>
  );
}

function KeyLine({ of: key }: { readonly of: KeyView }): ReactNode {
  return (
    <span className={styles.badges}>
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

function KeyDetails({ organization, of: key }: { readonly organization: string; readonly of: KeyView }): ReactNode {
  const reason = whyFixed(key);
  return (
    <>
      <KeyFacts of={key} />
      <div className={styles.links}>
        <LinkButton to="/o/$organization/requests" params={{ organization }} search={{ key: key.id }} icon="requests">
          Requests
        </LinkButton>
        <LinkButton to="/o/$organization/usage" params={{ organization }} search={{ key: key.id }} icon="usage">
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
    <EmptyState icon="key" title="This key is not in the list">
      Keys of the playground are not listed, nor revoked keys beyond the newest thousand. Or the link is of another
      organization.
    </EmptyState>
  );
}

/** Settings and use of a key. */
export function KeyFacts({ of: key }: { readonly of: KeyView }): ReactNode {
  return (
    <Facts>
      <Fact label="Spent today">
        <KeySpend of={key} period="day" />
      </Fact>
      {key.spentThisMonthNanoUsd !== undefined && (
        <Fact label="Spent this month">
          <KeySpend of={key} period="month" />
        </Fact>
      )}
      {key.spentInLifetimeNanoUsd !== undefined && (
        <Fact label="Spent in all">
          <KeySpend of={key} period="lifetime" />
        </Fact>
      )}
      {key.note !== undefined && (
        <Fact label="Note">
          <span className={styles.whole}>{key.note}</span>
        </Fact>
      )}
      <Fact label="Last used">
        <LastTime atMs={key.lastUsedAtMs} />
        {key.lastAddress !== undefined && <div className="muted">from {key.lastAddress}</div>}
      </Fact>
      <Fact label="Scopes">{key.scopes.map((scope) => SCOPE_LABELS[scope].title).join(', ')}</Fact>
      <Fact label="Models">{key.models === undefined ? <Muted>All models</Muted> : <Lines of={key.models} />}</Fact>
      <Fact label="Addresses">
        {key.ipRanges === undefined ? <Muted>Any address</Muted> : <Lines of={key.ipRanges} />}
      </Fact>
      <Fact label="Expires">
        {key.expiresAtMs === undefined ? <Muted>Never</Muted> : <Instant atMs={key.expiresAtMs} show="full" />}
      </Fact>
      <Fact label="Limits">
        <Limits of={key} />
      </Fact>
      {key.revokedAtMs !== undefined && (
        <Fact label={key.state === 'revoked' ? 'Revoked' : 'To be revoked'}>
          <Instant atMs={key.revokedAtMs} show="full" />
        </Fact>
      )}
      <Fact label="Belongs to">{key.createdBy ?? 'the organization (made on the command line)'}</Fact>
      <Fact label="Created">
        <Instant atMs={key.createdAtMs} />
      </Fact>
      <Fact label="Id">
        <code>{key.id}</code>
      </Fact>
    </Facts>
  );
}

function Limits({ of: key }: { readonly of: KeyView }): ReactNode {
  const { requestsPerMinute, tokensPerMinute } = key;
  if (requestsPerMinute === undefined && tokensPerMinute === undefined) {
    return <Muted>{limitLabels(key).length === 0 ? 'Those of the organization' : 'Budgets only'}</Muted>;
  }
  return (
    <ul className={styles.list}>
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

function Lines({ of: items }: { readonly of: readonly string[] }): ReactNode {
  return (
    <ul className={styles.list}>
      {items.map((item) => (
        <li key={item}>
          <code>{item}</code>
        </li>
      ))}
    </ul>
  );
}
