import type { KeyStateName, KeyView } from '../../../contract/keys.ts';
import { hasEnded } from '../../keys/key-labels.ts';

/** `expiring` keys work, but not for long. `atMs` is the moment of the end. */
export interface KeyStatus {
  readonly kind: KeyStateName | 'expiring';
  readonly atMs?: number | undefined;
}

/** Warns before the expiry. */
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

/** The reason why the user cannot change the key, or undefined. */
export function whyFixed({ state, mine, createdBy }: KeyView): string | undefined {
  if (state === 'revoked') return 'A revoked key stays revoked: create another one instead.';
  if (mine) return undefined;
  const who = createdBy === undefined ? 'Only owners' : `Only ${createdBy} and owners`;
  return `${who} of the organization may change this key.`;
}

/** Neither an expired key nor one that is being replaced can be replaced. */
export function mayReplace(key: KeyView): boolean {
  return !hasEnded(key) && key.state !== 'revoking';
}

/** An action on a key that needs a dialog. */
export interface KeyAction {
  readonly what: 'edit' | 'replace' | 'revoke';
  readonly of: KeyView;
}

/** `undefined` ends the action. */
export type OnKeyAction = (action: KeyAction | undefined) => void;
