import type { Change } from '#contract/setting.ts';
import type { KeyIdentity } from '#core/key-secret.ts';
import type { NanoUsd } from '#core/money.ts';
import type { KeyLimits, RateLimits, Scope } from '#core/principal.ts';

/** An absent setting means no restriction. */
export interface KeyRestrictions extends KeyLimits {
  readonly name: string;
  /** Text for people, without control characters. It is sent to no provider. */
  readonly note?: string;
  readonly scopes: readonly Scope[];
  readonly models?: readonly string[];
  readonly ipRanges?: readonly string[];
  readonly expiresAtMs?: number;
}

export interface KeySettings extends KeyRestrictions {
  readonly organizationId: string;
}

export interface NewKey extends KeySettings, KeyIdentity {
  /** True for a playground key, which key lists leave out. */
  readonly playground?: true;
}

export interface KeyRecord extends KeySettings {
  readonly id: string;
  readonly last4: string;
  /** True if the key is revoked at the database's current time. */
  readonly revoked: boolean;
  /** If in the future, the revocation is scheduled for then. */
  readonly revokedAtMs?: number;
  readonly createdAtMs: number;
  /** Id of the user who created the key. Absent: an operator's command line. */
  readonly createdBy?: string;
}

export type KeyChange = Change<KeyRestrictions>;

export interface KeyReplacement extends KeyIdentity {
  /** Absent or past: the old key is revoked immediately. */
  readonly oldRevokedAtMs?: number;
  /** Absent: the new key gets the old key's expiry. `null`: it does not expire. */
  readonly expiresAtMs?: number | null;
}

/** The first limit of the key that exceeds the organization's. */
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
  /** Only changed limits are checked. The organization's may have been lowered since. */
  | AboveOrganization;

export type ReplaceKeyResult =
  | { readonly kind: 'replaced'; readonly key: KeyRecord; readonly old: KeyRecord }
  | { readonly kind: 'unknown_key' }
  /** Already revoked, or scheduled to be revoked because it was replaced before. */
  | { readonly kind: 'revoked'; readonly key: KeyRecord }
  | { readonly kind: 'expired'; readonly key: KeyRecord };
