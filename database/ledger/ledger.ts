import type { OnSent } from '../../core/batching/joined-calls.ts';
import type { UtcDay } from '../../core/clock.ts';
import type { NanoUsd } from '../../core/money.ts';
import type { Prices, TokenUsage } from '../../core/pricing.ts';
import type { AccountSnapshot } from '../../core/principal.ts';
import type { Loss } from '../costs/losses.ts';

/**
 * The money's authority. Append-only; every charge exactly once, by generation id (docs/design.md,
 * "Invariants", 2).
 */
export interface Ledger {
  /**
   * Commits the generation and its charge; resolves after the commit with the account as it stands
   * then. Requests that finish while one commit is under way share the next. Repeating a generation
   * id changes nothing. Rejects with ChargeRefused when the ledger finds this one impossible; with
   * anything else, the ledger itself is unwell or away, and it may be charged later.
   */
  settle(settlement: Settlement, onSent?: OnSent): Promise<AccountSnapshot>;
  /**
   * The same for an attempt that has an Idempotency-Key: in one transaction it is charged, and its
   * answer kept for replay or the key freed. `undefined`: another attempt has taken the key over,
   * and this one was charged nothing.
   */
  settleClaimed(settlement: ClaimedSettlement, onSent?: OnSent): Promise<AccountSnapshot | undefined>;
  /**
   * Writes what the operator bears of a generation; once for each reason. Rejects with
   * StoreUnavailable.
   */
  lose(loss: Loss): Promise<void>;
  /**
   * Keeps a charge that the ledger refused for its values, so that it is neither lost nor blocks
   * others (docs/design.md, "Charges"). `delivered`: its client got the response, or may have;
   * otherwise the client got an error that says that nothing is billed.
   */
  deadLetter(settlement: Settlement | ClaimedSettlement, reason: unknown, delivered: boolean): Promise<void>;
  /** Another one than before: the database may have gone back in time. */
  currentEpoch(): Promise<string>;
  /** Returns the charged ones of these. */
  chargedAmong(generationIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** `undefined`: not of this organization, or not settled yet. */
  findGeneration(organizationId: string, generationId: string): Promise<Generation | undefined>;
  credits(organizationId: string): Promise<Credits>;
  /**
   * Sums of daily usage as of one moment, newest day first; groups that are not asked for are added
   * up. In pages, so that no reader has more than one of them to take at once; it returns false
   * when it wants no more. Nobody's database connection waits for it.
   */
  usage(query: UsageQuery, onPage: (rows: readonly UsageRow[]) => boolean): Promise<void>;
}

/** A finished request, ready to be charged. */
export interface Settlement {
  readonly generationId: string;
  readonly organizationId: string;
  readonly keyId: string;
  /** The day that the admission assigned. */
  readonly day: UtcDay;
  readonly model: string;
  readonly provider: string;
  /** The provider's name for the model. `undefined`: of the release before, which did not tell. */
  readonly providerModel?: string;
  /** The provider's own id of the answer, when it sent one. At most 200 characters. */
  readonly upstreamId?: string;
  readonly createdAtMs: number;
  readonly streamed: boolean;
  /** The client left before the end. */
  readonly cancelled: boolean;
  readonly finishReason?: string;
  readonly usage: TokenUsage;
  /** True if the gateway counted, because the provider sent no plausible usage. */
  readonly usageCounted: boolean;
  readonly prices: Prices;
  /**
   * The price of the usage. Charged is the least of it, the hold and what is left of the balance.
   */
  readonly costNanoUsd: NanoUsd;
  /** The most that it may be charged. `undefined`: of the release before, which did not tell. */
  readonly holdNanoUsd?: NanoUsd;
  /** To the first event or byte of the answer. */
  readonly latencyMs: number;
  /** From the first event to the last. */
  readonly generationTimeMs: number;
}

export interface ClaimedSettlement extends Settlement {
  readonly claim: ClaimEnd;
}

/** How an attempt with an Idempotency-Key ended. */
export interface ClaimEnd {
  /** As they were claimed (idempotency-store.ts). */
  readonly keyHash: Buffer;
  readonly bodyHash: Buffer;
  /** The sealed answer. Absent: it ended with an error, and the key is free again. */
  readonly answer?: Buffer;
  /**
   * The response waits in the spool of another process: the key stays claimed until its charge
   * arrives.
   */
  readonly answerElsewhere?: boolean;
  /** Another attempt was promised the key meanwhile: nothing is charged. */
  readonly takenOver?: boolean;
}

export interface Generation extends Omit<Settlement, 'organizationId' | 'day' | 'prices' | 'holdNanoUsd'> {
  /** As charged. */
  readonly costNanoUsd: NanoUsd;
}

/** Amount to be charged if the balance covers it: at most the hold. */
export function dueNanoUsd({ costNanoUsd, holdNanoUsd }: Pick<Settlement, 'costNanoUsd' | 'holdNanoUsd'>): NanoUsd {
  return holdNanoUsd !== undefined && holdNanoUsd < costNanoUsd ? holdNanoUsd : costNanoUsd;
}

export interface Credits {
  readonly balanceNanoUsd: NanoUsd;
  /** Sum of all operator entries. */
  readonly totalCreditsNanoUsd: NanoUsd;
  /** Sum of all charges, as a positive amount. */
  readonly totalUsageNanoUsd: NanoUsd;
}

export type UsageGroup = 'day' | 'model' | 'key';

export interface UsageQuery {
  readonly organizationId: string;
  /** Both inclusive. */
  readonly firstDay: UtcDay;
  readonly lastDay: UtcDay;
  readonly groupBy: ReadonlySet<UsageGroup>;
}

export interface UsageRow {
  readonly day?: UtcDay;
  readonly model?: string;
  readonly keyId?: string;
  readonly requests: number;
  readonly usage: TokenUsage;
  readonly costNanoUsd: NanoUsd;
}
