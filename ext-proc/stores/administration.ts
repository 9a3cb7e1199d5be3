import type { NanoUsd } from '../domain/money.ts';
import type { RateLimits, Scope } from '../domain/principal.ts';

/** What operators and dashboard change. Every change is in force for the next request: the gateway reads the same rows (DESIGN invariant 8). */
export interface Administration {
  /** With an opening credit, both are committed together. */
  createOrganization(organization: NewOrganization, openingCredit?: CreditEntry): Promise<OrganizationRecord>;
  /** Oldest first. */
  organizations(): Promise<readonly OrganizationRecord[]>;
  /** `undefined`, here and below: there is no such organization or key. */
  organization(id: string): Promise<OrganizationRecord | undefined>;
  updateOrganization(id: string, change: OrganizationChange): Promise<OrganizationRecord | undefined>;
  /** Suspending twice keeps the first time. */
  setSuspended(id: string, suspended: boolean): Promise<OrganizationRecord | undefined>;
  credit(organizationId: string, entry: CreditEntry): Promise<CreditResult>;
  createKey(key: NewKey): Promise<CreateKeyResult>;
  /** Oldest first. */
  keys(organizationId: string): Promise<readonly KeyRecord[] | undefined>;
  /** Revoking twice keeps the first time. */
  revokeKey(id: string): Promise<KeyRecord | undefined>;
  verifyLedger(): Promise<LedgerReport>;
  /** After a restore: tells every limit store that what it remembers of this ledger is worth nothing. Returns the new epoch. */
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
  /** Applied once for each organization. */
  readonly reference?: string;
  readonly actor: string;
}

export type CreditResult =
  | { readonly kind: 'applied'; readonly balanceNanoUsd: NanoUsd }
  /** The reference was used before, for `amountNanoUsd`; nothing was added now. */
  | { readonly kind: 'repeated'; readonly amountNanoUsd: NanoUsd; readonly balanceNanoUsd: NanoUsd }
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
  readonly revokedAtMs?: number;
  readonly createdAtMs: number;
}

export type CreateKeyResult =
  | { readonly kind: 'created'; readonly key: KeyRecord }
  | { readonly kind: 'unknown_organization' }
  /** The first limit of the key that is above the organization's. */
  | {
      readonly kind: 'above_organization';
      readonly limit: keyof RateLimits;
      readonly organizationLimit: number | NanoUsd;
    };

export interface LedgerReport {
  readonly organizations: number;
  readonly entries: number;
  readonly generations: number;
  /** Charges that the ledger refused, which an operator has to look at (table dead_letters). */
  readonly deadLetters: number;
  /** Empty: everything agrees. At most 100 for each rule. */
  readonly differences: readonly LedgerDifference[];
}

export interface LedgerDifference {
  readonly rule: string;
  /** Organization, generation, key or day that it is about. */
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
}
