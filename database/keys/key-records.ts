import type { NanoUsd } from '../../core/money.ts';
import type { RateLimits, Scope } from '../../core/principal.ts';

export interface KeySettings {
  readonly organizationId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly models?: readonly string[];
  readonly ipRanges?: readonly string[];
  readonly expiresAtMs?: number;
  readonly limits: RateLimits;
}

export interface NewKey extends KeySettings {
  readonly id: string;
  /** SHA-256 of the whole key. */
  readonly hash: Buffer;
  readonly last4: string;
}

export interface KeyRecord extends KeySettings {
  readonly id: string;
  readonly last4: string;
  /** True if it is revoked by now, by the database's clock. */
  readonly revoked: boolean;
  /** In the future: it will be revoked then. */
  readonly revokedAtMs?: number;
  readonly createdAtMs: number;
  /** Id of the user. Absent: an operator's command line. */
  readonly createdBy?: string;
}

/** Changed settings. Absent: unchanged. `null`: no longer restricted. */
export interface KeyChange {
  readonly name?: string;
  readonly scopes?: readonly Scope[];
  readonly models?: readonly string[] | null;
  readonly ipRanges?: readonly string[] | null;
  readonly expiresAtMs?: number | null;
  readonly requestsPerMinute?: number | null;
  readonly tokensPerMinute?: number | null;
  readonly dailyBudgetNanoUsd?: NanoUsd | null;
}

export interface KeyReplacement {
  /** Id of the new key. */
  readonly id: string;
  readonly hash: Buffer;
  readonly last4: string;
  /** Absent or past: the old key is revoked at once. */
  readonly oldRevokedAtMs?: number;
}

/** The first limit of the key that is above the organization's. */
export interface AboveOrganization {
  readonly kind: 'above_organization';
  readonly limit: keyof RateLimits;
  readonly organizationLimit: number | NanoUsd;
}

export type CreateKeyResult =
  | { readonly kind: 'created'; readonly key: KeyRecord }
  | { readonly kind: 'unknown_organization' }
  | AboveOrganization;

export type UpdateKeyResult =
  | { readonly kind: 'updated'; readonly key: KeyRecord }
  | { readonly kind: 'unknown_key' }
  | { readonly kind: 'revoked'; readonly key: KeyRecord }
  /**
   * Refuses only changed limits: an unchanged one may be above the organization's, which was
   * lowered later.
   */
  | AboveOrganization;

export type ReplaceKeyResult =
  | { readonly kind: 'replaced'; readonly key: KeyRecord; readonly old: KeyRecord }
  | { readonly kind: 'unknown_key' }
  /** Revoked, or to be revoked because it was replaced before. */
  | { readonly kind: 'revoked'; readonly key: KeyRecord }
  /** The old key has expired, and the new one would have the same expiry. */
  | { readonly kind: 'expired'; readonly key: KeyRecord };
