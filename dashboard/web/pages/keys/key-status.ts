import type { KeyStateName, KeyView } from '#contract/keys.ts';
import { isExpiring } from '#core/key-filter.ts';
import { hasEnded } from '../../keys/key-labels.ts';

/** `expiring` keys work, but not for long. `atMs` is the moment of the end. */
export interface KeyStatus {
  readonly kind: KeyStateName | 'expiring';
  readonly atMs?: number | undefined;
}

export function keyStatus(key: KeyView, nowMs: number): KeyStatus {
  const { state, revokedAtMs, expiresAtMs } = key;
  switch (state) {
    case 'revoked':
    case 'revoking':
      return { kind: state, atMs: revokedAtMs };
    case 'expired':
      return { kind: state, atMs: expiresAtMs };
    case 'usable':
      return isExpiring(key, nowMs) ? { kind: 'expiring', atMs: expiresAtMs } : { kind: 'usable' };
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

/** True where a later expiry is what the key needs. */
export function mayExtend(key: KeyView, nowMs: number): boolean {
  const { kind } = keyStatus(key, nowMs);
  return kind === 'expiring' || kind === 'expired';
}

/** An action on a key that needs a dialog. */
export interface KeyAction {
  readonly what: 'edit' | 'extend' | 'replace' | 'revoke';
  readonly of: KeyView;
}

/** `undefined` ends the action. */
export type OnKeyAction = (action: KeyAction | undefined) => void;
