import type { NanoUsd } from '../../core/money.ts';
import type { RateLimits, Scope } from '../../core/principal.ts';
import type { Actor } from '../audit/audit.ts';
import type { Loss } from '../connection/losses.ts';
import type { DeadLetter, ResolvedLetter } from '../ledger/dead-letter-store.ts';
import type { LedgerReport, VerifyOptions } from '../ledger-verification/ledger-report.ts';

/**
 * What operators and dashboard change. Every change is in force for the next request: the gateway reads the same rows (DESIGN invariant 8).
 * Each is committed together with its row in the audit log; where nothing changes there is no row.
 */
export interface Administration {
  /** With an opening credit, both are committed together, or neither. */
  createOrganization(
    organization: NewOrganization,
    by: Actor,
    openingCredit?: CreditEntry,
  ): Promise<CreateOrganizationResult>;
  /** Oldest first. */
  organizations(): Promise<readonly OrganizationRecord[]>;
  /** Newest first. */
  searchOrganizations(query: OrganizationQuery): Promise<readonly OrganizationRecord[]>;
  /** The existing ones of these organizations, newest first. */
  organizationsById(ids: readonly string[]): Promise<readonly OrganizationRecord[]>;
  /** `undefined`, here and below: there is no such organization or key. */
  organization(id: string): Promise<OrganizationRecord | undefined>;
  updateOrganization(id: string, change: OrganizationChange, by: Actor): Promise<OrganizationRecord | undefined>;
  /** Suspending twice keeps the first time. */
  setSuspended(id: string, suspended: boolean, by: Actor): Promise<OrganizationRecord | undefined>;
  credit(organizationId: string, entry: CreditEntry, by: Actor): Promise<CreditResult>;
  /** A user who creates a key is kept as `createdBy`. */
  createKey(key: NewKey, by: Actor): Promise<CreateKeyResult>;
  /** Oldest first; of those that are revoked the newest `mostRevoked`, default all. */
  keys(organizationId: string, mostRevoked?: number): Promise<readonly KeyRecord[] | undefined>;
  key(organizationId: string, keyId: string): Promise<KeyRecord | undefined>;
  updateKey(organizationId: string, keyId: string, change: KeyChange, by: Actor): Promise<UpdateKeyResult>;
  /** A new key with the settings of the old one, which is revoked now or later, as `replacement` says. */
  replaceKey(organizationId: string, keyId: string, replacement: KeyReplacement, by: Actor): Promise<ReplaceKeyResult>;
  /** Revoking twice keeps the first time. With an organization, only a key of it is found. */
  revokeKey(id: string, by: Actor, organizationId?: string): Promise<KeyRecord | undefined>;
  verifyLedger(options?: VerifyOptions): Promise<LedgerReport>;
  /** Oldest first, all that were written since then. */
  losses(sinceMs: number): Promise<readonly LossRecord[]>;
  /** Oldest first, those about which nobody has decided. */
  deadLetters(): Promise<readonly DeadLetter[]>;
  /** Charges it now. */
  retryDeadLetter(generationId: string, by: Actor): Promise<ResolvedLetter>;
  /** Books it as a loss. */
  forgiveDeadLetter(generationId: string, by: Actor): Promise<ResolvedLetter>;
  /** After a restore: makes every limit store discard its state of this ledger. Returns the new epoch. */
  renewLedgerEpoch(): Promise<string>;
}

export interface OrganizationSettings {
  readonly name: string;
  readonly allowMultipleCompletions: boolean;
  readonly concurrency: number;
  /** Absent: no cap of the organization's own. */
  readonly maxTokens?: number;
  readonly limits: RateLimits;
}

export interface NewOrganization extends OrganizationSettings {
  readonly id: string;
}

/** Absent: stays as it is. `null`: no longer limited. */
export interface OrganizationChange {
  readonly name?: string;
  readonly allowMultipleCompletions?: boolean;
  readonly concurrency?: number;
  readonly maxTokens?: number | null;
  readonly requestsPerMinute?: number | null;
  readonly tokensPerMinute?: number | null;
  readonly dailyBudgetNanoUsd?: NanoUsd | null;
}

export interface OrganizationQuery {
  /** Part of the name, in any case, or the whole id. Absent: all. */
  readonly search?: string;
  /** Only organizations older than this one: the last of the page before. */
  readonly beforeId?: string;
  readonly limit: number;
}

export interface OrganizationRecord extends OrganizationSettings {
  readonly id: string;
  readonly suspendedAtMs?: number;
  readonly balanceNanoUsd: NanoUsd;
  readonly createdAtMs: number;
}

export interface CreditEntry {
  /** Not zero; negative amounts correct. */
  readonly amountNanoUsd: NanoUsd;
  readonly note?: string;
  /** Applied once, whatever organization it is for. */
  readonly reference?: string;
}

/** The reference was booked for that organization before; nothing was done now. */
export interface ReferenceElsewhere {
  readonly kind: 'reference_elsewhere';
  readonly organizationId: string;
}

export type CreateOrganizationResult =
  | { readonly kind: 'created'; readonly organization: OrganizationRecord }
  | ReferenceElsewhere;

export type CreditResult =
  | { readonly kind: 'applied'; readonly balanceNanoUsd: NanoUsd }
  /** The reference was used before, for `amountNanoUsd`; nothing was added now. */
  | { readonly kind: 'repeated'; readonly amountNanoUsd: NanoUsd; readonly balanceNanoUsd: NanoUsd }
  | ReferenceElsewhere
  | { readonly kind: 'unknown_organization' }
  /** The balance would leave the range of amounts. */
  | { readonly kind: 'out_of_range' };

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

/** Absent: stays as it is. `null`: no longer restricted. */
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
  /** Judged are the limits that the change really changes: one that stood above before the organization's was lowered may stay. */
  | AboveOrganization;

export type ReplaceKeyResult =
  | { readonly kind: 'replaced'; readonly key: KeyRecord; readonly old: KeyRecord }
  | { readonly kind: 'unknown_key' }
  /** Revoked, or to be revoked because it was replaced before. */
  | { readonly kind: 'revoked'; readonly key: KeyRecord }
  /** The new key would have been of no use: its expiry is the old one's. */
  | { readonly kind: 'expired'; readonly key: KeyRecord };

export interface LossRecord extends Omit<Loss, 'model' | 'provider'> {
  readonly createdAtMs: number;
}
