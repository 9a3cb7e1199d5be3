import type { UtcDay } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import type { AppliedPrices, TokenUsage } from '#core/pricing.ts';
import type { AccountSnapshot } from '#core/principal.ts';
import type { Loss } from '../costs/losses.ts';

/**
 * The ledger is authoritative about money. It is append-only, and charges every generation exactly
 * once (docs/design.md, "Invariants", 2).
 */
export interface Ledger {
  /**
   * Commits the generation and its charge. Resolves after the commit with the resulting account.
   * Requests that finish during one commit share the next. A repeated generation id changes
   * nothing. Rejects with ChargeRefused if the ledger refuses this charge for its content. After
   * any other error PostgreSQL may accept it later.
   */
  charge(settlement: Settlement): Promise<AccountSnapshot>;
  /**
   * Charges a request with an Idempotency-Key, and stores its response or frees the key in the same
   * transaction. `undefined`: another request took the key over, and nothing was charged.
   */
  chargeClaimed(settlement: ClaimedSettlement): Promise<AccountSnapshot | undefined>;
  /** Records a loss, once for each generation and reason. Rejects with StoreUnavailable. */
  lose(loss: Loss): Promise<void>;
  /**
   * Stores a refused charge as a dead letter, so that it is neither lost nor blocks others
   * (docs/design.md, "Charges"). `delivered`: the client got the response, or may have; otherwise
   * it received an error, and was told that nothing is billed.
   */
  deadLetter(settlement: AnySettlement, reason: unknown, delivered: boolean): Promise<void>;
  /** Reads the ledger epoch. If it has changed, the database may have gone back in time. */
  currentEpoch(): Promise<string>;
  /** Renews the epoch of a database that went back in time, unless it is no longer the one seen. */
  renewEpochAfter(seen: string): Promise<void>;
  /** Returns those generations that are charged already. */
  chargedAmong(generationIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Finds a generation. `undefined`: it belongs to another organization, or is not charged yet. */
  findGeneration(organizationId: string, generationId: string): Promise<Generation | undefined>;
  credits(organizationId: string): Promise<Credits>;
  /**
   * Reads sums of daily usage in one snapshot, newest day first, added up over the columns that are
   * not grouped by. `onPage` gets one page at a time and returns false to stop. It is synchronous,
   * so no connection waits for it. Resolves with false if the sums take over ten seconds.
   */
  usage(query: UsageQuery, onPage: (rows: readonly UsageRow[]) => boolean): Promise<boolean>;
}

/** PostgreSQL refused a charge for its content. Nothing was charged; a retry cannot succeed. */
export class ChargeRefused extends Error {
  override readonly name = 'ChargeRefused';
}

/** A finished request, ready to be charged. */
export interface Settlement extends AppliedPrices {
  readonly generationId: string;
  readonly organizationId: string;
  readonly keyId: string;
  readonly day: UtcDay;
  readonly model: string;
  readonly provider: string;
  readonly providerModel: string;
  /** The provider's id of the response, if it sent one. At most 200 characters. */
  readonly upstreamId?: string;
  /** The request's `user`, by which the client names its end user. Never logged. */
  readonly user?: string;
  /** API that the client used. Absent: chat completions. */
  readonly api?: string;
  readonly createdAtMs: number;
  readonly streamed: boolean;
  /** True if the client left before the end. */
  readonly cancelled: boolean;
  readonly finishReason?: string;
  readonly usage: TokenUsage;
  /** True if the gateway counted the tokens, because the provider sent no plausible usage. */
  readonly usageCounted: boolean;
  readonly serviceTier?: string;
  /** Price of the usage. The charge is the smallest of this, the hold and the remaining balance. */
  readonly costNanoUsd: NanoUsd;
  /** Upper bound of the charge. */
  readonly holdNanoUsd: NanoUsd;
  /** Amount by which the served tier's price exceeds that price, booked as a loss. Absent: none. */
  readonly tierLossNanoUsd?: NanoUsd;
  /** Cost at the provider. Absent: the target has no costs configured. Never shown to customers. */
  readonly providerCostNanoUsd?: NanoUsd;
  /** Price by the model's own table. Absent: equals `costNanoUsd`. Customers never see it. */
  readonly listNanoUsd?: NanoUsd;
  /** Time to the first event, or to the first byte of the response. */
  readonly firstEventMs: number;
  /** Time from the first event to the last. */
  readonly generationTimeMs: number;
}

export interface ClaimedSettlement extends Settlement {
  readonly claim: ClaimEnd;
}

/** Settlement of any request, with or without an Idempotency-Key. */
export type AnySettlement = Settlement | ClaimedSettlement;

/** End of a claim. Charge logs and dead letters persist it, so members keep their names. */
export interface ClaimEnd {
  /** Hash of the idempotency key (idempotency-store.ts). */
  readonly keyHash: Buffer;
  readonly bodyHash: Buffer;
  /** Sealed response. Absent: the request ended with an error, so the key becomes free. */
  readonly response?: Buffer;
  /** The response is in another process's log. The key stays claimed until its charge arrives. */
  readonly responseElsewhere?: boolean;
  /** True if another request took the key over. Then nothing is charged. */
  readonly takenOver?: boolean;
}

export interface Generation
  extends Omit<
    Settlement,
    | keyof AppliedPrices
    | 'organizationId'
    | 'day'
    | 'holdNanoUsd'
    | 'tierLossNanoUsd'
    | 'providerCostNanoUsd'
    | 'listNanoUsd'
    | 'user'
  > {
  /** The charged amount. */
  readonly costNanoUsd: NanoUsd;
}

/** Computes the charge before the balance is known: the price, but at most the hold. */
export function dueNanoUsd({ costNanoUsd, holdNanoUsd }: Pick<Settlement, 'costNanoUsd' | 'holdNanoUsd'>): NanoUsd {
  return holdNanoUsd < costNanoUsd ? holdNanoUsd : costNanoUsd;
}

export interface Credits {
  readonly balanceNanoUsd: NanoUsd;
  /** Sum of all operator entries. */
  readonly totalCreditsNanoUsd: NanoUsd;
  /** Sum of all charges, as a positive amount. */
  readonly totalUsageNanoUsd: NanoUsd;
  /** What undecided dead letters owe. */
  readonly deadLettersNanoUsd: NanoUsd;
}

export type UsageGroup = 'day' | 'model' | 'key' | 'user';

export interface UsageQuery {
  readonly organizationId: string;
  /** Both days are inclusive. */
  readonly firstDay: UtcDay;
  readonly lastDay: UtcDay;
  readonly groupBy: ReadonlySet<UsageGroup>;
}

export interface UsageRow {
  readonly day?: UtcDay;
  readonly model?: string;
  readonly keyId?: string;
  /** `null`: the requests named no user. */
  readonly user?: string | null;
  readonly requests: number;
  readonly usage: TokenUsage;
  readonly costNanoUsd: NanoUsd;
}
