import type { UtcDay } from '#core/clock.ts';
import type { AccountSnapshot } from '#core/principal.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import type { LimitStore } from '#ext-proc/limits/limit-store.ts';

export interface Customer {
  readonly organizationId: string;
  readonly keyIds: readonly string[];
}

/** A real ledger behind the one in memory. Both must return the same. */
export interface Backing {
  read(organizationId: string, keyId: string, day: UtcDay): Promise<AccountSnapshot>;
  charge(settlement: Settlement): Promise<AccountSnapshot>;
  credit(organizationId: string, amountNanoUsd: bigint): Promise<void>;
  renewEpoch(): Promise<void>;
}

/** A part of a server's data about one organization. */
export type StorePart = 'organization' | 'holds' | 'leases';

export interface StoreServer {
  flush(): Promise<void>;
  /** Deletes one key, as an eviction does. */
  lose(organizationId: string, part: StorePart): Promise<void>;
  /**
   * The touch of every process each five seconds. The server's clock is trusted between two
   * touches.
   */
  touch(): Promise<void>;
}

/** The stores of limits and money in a history. */
export interface Mode {
  readonly processes: number;
  /** Infinite if the store is in the memory of its process. */
  readonly leaseMs: number;
  /**
   * Opens a store for a new history or, with a store per process, for a new process. `serverNowMs`
   * is the clock of a shared store's server.
   */
  open(serverNowMs: () => number): Promise<LimitStore>;
  /** Accidents of a store on a separate server, whose clock may step. */
  readonly server?: StoreServer;
  /** Customers with two keys and the balance `OPENING` each. */
  readonly customers?: readonly Customer[];
  readonly backing?: Backing;
}

/** The customers if money is kept in memory. */
export const CUSTOMERS: readonly Customer[] = ['org-0', 'org-1'].map((organizationId) => ({
  organizationId,
  keyIds: [`${organizationId}-key-0`, `${organizationId}-key-1`],
}));
export const OPENING = 1_000n;
