import type { UtcDay } from './clock.ts';
import type { NanoUsd } from './money.ts';

export type Scope = 'chat' | 'usage:read';

export const SCOPES: readonly Scope[] = ['chat', 'usage:read'];

/**
 * The caller, as PostgreSQL has it when the request arrives, with everything that authentication,
 * authorization and admission need. The account may be an earlier state of the same epoch.
 */
export interface Principal {
  readonly key: Key;
  readonly organization: Organization;
  readonly account: AccountSnapshot;
}

export interface Key {
  readonly id: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Absent: every model. */
  readonly models?: ReadonlySet<string>;
  /** Absent: every address. CIDR text, IPv4 or IPv6; a bare address is its own range. */
  readonly ipRanges?: readonly string[];
  readonly revokedAtMs?: number;
  /** Time from the read until a planned revocation, by PostgreSQL's clock. */
  readonly revokedInMs?: number;
  readonly expiresAtMs?: number;
  readonly limits: KeyLimits;
}

export interface Organization extends OrganizationRules {
  readonly id: string;
  readonly suspended: boolean;
  readonly limits: RateLimits;
}

/** Settings of an organization that requests are checked with, besides its limits. */
export interface OrganizationRules {
  readonly allowMultipleCompletions: boolean;
  /** Output cap per completion. Absent: only the model's own cap applies. */
  readonly maxTokens?: number;
  readonly concurrency: number;
  /** Name of its price list. Absent: it pays the models' own prices. */
  readonly priceList?: string;
}

/** Rules of an organization without settings. */
export const DEFAULT_RULES = { allowMultipleCompletions: false, concurrency: 64 } satisfies OrganizationRules;

export interface RateLimits {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly dailyBudgetNanoUsd?: NanoUsd;
}

export interface KeyLimits extends RateLimits {
  /** Budget of each UTC month. */
  readonly monthlyBudgetNanoUsd?: NanoUsd;
  /** Budget of everything that the key ever spends. */
  readonly lifetimeBudgetNanoUsd?: NanoUsd;
}

/**
 * Money as one committed state of the ledger. The limit store keeps the newest it has seen by
 * (epoch, sequence), so that late, repeated or reordered snapshots do no harm (docs/design.md,
 * "Admission"). Sequences are assigned under the row lock of what they count.
 */
export interface AccountSnapshot {
  /** Changes with a database that may be older (restore, failover): snapshots become invalid. */
  readonly ledgerEpoch: string;
  readonly organization: OrganizationAccount;
  readonly key: KeyAccount;
}

export interface OrganizationAccount {
  readonly sequence: number;
  /** The balance less what undecided dead letters owe. */
  readonly balanceNanoUsd: NanoUsd;
  /** The UTC day that `spentNanoUsd` belongs to. */
  readonly day: UtcDay;
  readonly spentNanoUsd: NanoUsd;
}

export interface KeyAccount {
  readonly sequence: number;
  readonly day: UtcDay;
  readonly spentNanoUsd: NanoUsd;
  /** Spend of the UTC month of `day`. Absent: the key had no monthly budget in this state. */
  readonly monthSpentNanoUsd?: NanoUsd;
  /** Absent: the key had no lifetime budget in this state. */
  readonly lifetimeSpentNanoUsd?: NanoUsd;
}
