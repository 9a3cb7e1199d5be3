import type { KeyStateName, KeyView } from '../../../contract/keys.ts';
import { hasEnded } from '../../keys/key-labels.ts';

/** `expiring`: usable, but not for long. `atMs`: when that ends or ended. */
export interface KeyStatus {
  readonly kind: KeyStateName | 'expiring';
  readonly atMs?: number | undefined;
}

/** Soon enough to say it before it happens. */
const SOON_MS = 7 * 86_400_000;

export function keyStatus({ state, revokedAtMs, expiresAtMs }: KeyView, nowMs: number): KeyStatus {
  switch (state) {
    case 'revoked':
    case 'revoking':
      return { kind: state, atMs: revokedAtMs };
    case 'expired':
      return { kind: state, atMs: expiresAtMs };
    case 'usable':
      if (expiresAtMs === undefined || expiresAtMs - nowMs > SOON_MS) return { kind: 'usable' };
      return { kind: 'expiring', atMs: expiresAtMs };
  }
}

/** Why nothing can be done with a key by who looks at it, or undefined. */
export function whyFixed({ state, mine, createdBy }: KeyView): string | undefined {
  if (state === 'revoked') return 'A revoked key stays revoked: create another one instead.';
  if (mine) return undefined;
  const who = createdBy === undefined ? 'Only owners' : `Only ${createdBy} and owners`;
  return `${who} of the organization may change this key.`;
}

/** A new key could not outlive one that has expired, and one that is being replaced is not replaced twice. */
export function mayReplace(key: KeyView): boolean {
  return !hasEnded(key) && key.state !== 'revoking';
}

/** What is being done to a key in a dialog. */
export interface KeyAction {
  readonly what: 'edit' | 'replace' | 'revoke';
  readonly of: KeyView;
}

/** One is begun, or the one that was is over. */
export type OnKeyAction = (action: KeyAction | undefined) => void;
