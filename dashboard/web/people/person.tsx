import type { ReactNode } from 'react';
import { StatusPill } from '../components/values.tsx';

interface PersonProps {
  readonly email: string;
  /** Shown for the signed-in user. */
  readonly isSelf: boolean;
  readonly children?: ReactNode;
}

export function Person({ email, isSelf, children }: PersonProps): ReactNode {
  return (
    <span className="row">
      <span className="clip" data-hint={email}>
        {email}
      </span>
      {isSelf && <span className="muted">you</span>}
      {children}
    </span>
  );
}

/** Whether a person can sign in. A disabled one is shown as disabled, whether invited or not. */
export function PersonState(of: { readonly invited: boolean; readonly disabled: boolean }): ReactNode {
  if (of.disabled) return <StatusPill tone="bad">Disabled</StatusPill>;
  return of.invited ? <StatusPill tone="warn">Invited</StatusPill> : <StatusPill tone="good">Active</StatusPill>;
}
