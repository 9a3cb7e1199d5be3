import type { UtcDay } from '../../ext-proc/domain/clock.ts';
import type { AccountSnapshot } from '../../ext-proc/domain/principal.ts';
import type { Settlement } from '../../ext-proc/stores/ledger.ts';
import type { LimitStore } from '../../ext-proc/stores/limit-store.ts';

export interface Customer {
  readonly organizationId: string;
  readonly keyIds: readonly string[];
}

/** A real ledger, of which the one in memory is then the mirror: both must answer the same. */
export interface Backing {
  read(organizationId: string, keyId: string, day: UtcDay): Promise<AccountSnapshot>;
  settle(settlement: Settlement): Promise<AccountSnapshot>;
  credit(organizationId: string, amountNanoUsd: bigint): Promise<void>;
  renewEpoch(): Promise<void>;
}

/** How a history keeps its limits and its money. */
export interface Mode {
  readonly processes: number;
  /** Infinite: the store dies with its process, and lives nowhere else. */
  readonly leaseMs: number;
  /** A store for a history that begins; with a store per process, for each start. */
  open(): Promise<LimitStore>;
  /** What a shared store's accident does. */
  flush?(): Promise<void>;
  /** Each with two keys and `OPENING`. */
  readonly customers?: readonly Customer[];
  readonly backing?: Backing;
}

/** Where the money is in memory only. */
export const CUSTOMERS: readonly Customer[] = ['org-0', 'org-1'].map((organizationId) => ({
  organizationId,
  keyIds: [`${organizationId}-key-0`, `${organizationId}-key-1`],
}));
export const OPENING = 1_000n;
