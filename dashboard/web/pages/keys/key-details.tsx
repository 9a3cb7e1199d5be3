import type { ReactNode } from 'react';
import type { KeyView } from '../../../contract/keys.ts';
import { Fact, Facts } from '../../components/facts.tsx';
import { Count, Instant } from '../../components/figures.tsx';
import { SCOPE_LABELS } from '../../keys/key-labels.ts';
import { KeySpend } from './key-cells.tsx';
import styles from './keys.module.css';

/** All that is set of a key, and what has become of it. */
export function KeyFacts({ of: key }: { readonly of: KeyView }): ReactNode {
  return (
    <Facts>
      <Fact label="Spent today">
        <KeySpend of={key} />
      </Fact>
      <Fact label="Last used">
        {key.lastUsedAtMs === undefined ? <Muted>Never</Muted> : <Instant atMs={key.lastUsedAtMs} show="relative" />}
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

function Limits({
  of: { requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd },
}: {
  readonly of: KeyView;
}): ReactNode {
  if (requestsPerMinute === undefined && tokensPerMinute === undefined) {
    return <Muted>{dailyBudgetNanoUsd === undefined ? 'Those of the organization' : 'Daily budget only'}</Muted>;
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

function Muted({ children }: { readonly children: ReactNode }): ReactNode {
  return <span className="muted">{children}</span>;
}
