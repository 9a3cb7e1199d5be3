import type { ReactNode, RefObject } from 'react';
import type { KeyView } from '../../../contract/keys.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LinkButton } from '../../components/link-button.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { maskedKey } from '../../keys/key-labels.ts';
import { Drawer } from '../../overlays/dialog.tsx';
import { KeyState } from './key-cells.tsx';
import { KeyFacts } from './key-details.tsx';
import type { OnKeyAction } from './key-status.ts';
import { mayReplace, whyFixed } from './key-status.ts';
import styles from './keys.module.css';

export interface KeyDrawerProps {
  readonly organization: string;
  /** The id in the URL. */
  readonly id: string | undefined;
  /** Absent: coming. */
  readonly keys: readonly KeyView[] | undefined;
  readonly onClose: () => void;
  readonly onAct: OnKeyAction;
  readonly details: RefObject<HTMLDivElement | null>;
  /** What opens over it. */
  readonly children: ReactNode;
}

/** Everything about one key, beside the list. */
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
    <EmptyState icon="key" title="There is no such key">
      The link may be of another organization.
    </EmptyState>
  );
}
