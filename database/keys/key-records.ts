import type { NanoUsd } from '#core/money.ts';
import type { KeyLimits, RateLimits, Scope } from '#core/principal.ts';

export interface KeySettings {
  readonly organizationId: string;
  readonly name: string;
  /** Visible text for people. No request and no provider sees it. */
  readonly note?: string;
  readonly scopes: readonly Scope[];
  readonly models?: readonly string[];
  readonly ipRanges?: readonly string[];
  readonly expiresAtMs?: number;
  readonly limits: KeyLimits;
}

export interface NewKey extends KeySettings {
  readonly id: string;
  /** SHA-256 of the whole key. */
  readonly hash: Buffer;
  readonly last4: string;
  /** Made for the playground of a member. Lists of keys leave it out. */
  readonly playground?: true;
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
  readonly note?: string | null;
  readonly scopes?: readonly Scope[];
  readonly models?: readonly string[] | null;
  readonly ipRanges?: readonly string[] | null;
  readonly expiresAtMs?: number | null;
  readonly requestsPerMinute?: number | null;
  readonly tokensPerMinute?: number | null;
  readonly dailyBudgetNanoUsd?: NanoUsd | null;
  readonly monthlyBudgetNanoUsd?: NanoUsd | null;
  readonly lifetimeBudgetNanoUsd?: NanoUsd | null;
}

export interface KeyReplacement {
  /** Id of the new key. */
  readonly id: string;
  readonly hash: Buffer;
  readonly last4: string;
  /** Absent or past: the old key is revoked at once. */
  readonly oldRevokedAtMs?: number;
  /** Absent: the new key expires when the old one does. `null`: never. */
  readonly expiresAtMs?: number | null;
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
  /** The old key has expired. */
  | { readonly kind: 'expired'; readonly key: KeyRecord };
