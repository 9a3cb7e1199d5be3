import type { UtcDay } from '#core/clock.ts';
import type { AccountSnapshot } from '#core/principal.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import type { LimitStore } from '#ext-proc/limits/limit-store.ts';

export interface Customer {
  readonly organizationId: string;
  readonly keyIds: readonly string[];
}

/** A real ledger, of which the one in memory is then the mirror: both must answer the same. */
export interface Backing {
  read(organizationId: string, keyId: string, day: UtcDay): Promise<AccountSnapshot>;
  charge(settlement: Settlement): Promise<AccountSnapshot>;
  credit(organizationId: string, amountNanoUsd: bigint): Promise<void>;
  renewEpoch(): Promise<void>;
}

/** A part of what a server keeps of one organization. */
export type StorePart = 'organization' | 'holds' | 'leases';

export interface StoreServer {
  flush(): Promise<void>;
  /** One key is deleted or evicted. */
  lose(organizationId: string, part: StorePart): Promise<void>;
  /**
   * The touch that every process makes each five seconds. The server's clock is trusted from one
   * touch to the next.
   */
  touch(): Promise<void>;
}

/** How a history keeps its limits and its money. */
export interface Mode {
  readonly processes: number;
  /** Infinite: the store dies with its process, and lives nowhere else. */
  readonly leaseMs: number;
  /**
   * A store for a history that begins; with a store per process, for each start. `serverNowMs`: the
   * clock of a shared store's own server.
   */
  open(serverNowMs: () => number): Promise<LimitStore>;
  /** Accidents of a store that is a server of its own, whose clock may step. */
  readonly server?: StoreServer;
  /** Each with two keys and `OPENING`. */
  readonly customers?: readonly Customer[];
  readonly backing?: Backing;
}

/** Customers of a machine that keeps limits in memory. */
export const CUSTOMERS: readonly Customer[] = ['org-0', 'org-1'].map((organizationId) => ({
  organizationId,
  keyIds: [`${organizationId}-key-0`, `${organizationId}-key-1`],
}));
export const OPENING = 1_000n;
