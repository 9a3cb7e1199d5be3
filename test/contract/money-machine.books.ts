import { expect } from 'vitest';
import type { AccountSnapshot } from '#core/principal.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import type { MemoryLedger } from './memory-ledger.ts';
import type { Backing } from './money-machine.mode.ts';
import type { Reach } from './money-machine.store.ts';

/** The ledger as processes reach it. If a real ledger backs it, both must return the same. */
export class Books {
  reach: Reach = 'here';
  readonly #ledger: MemoryLedger;
  readonly #backing: Backing | undefined;
  readonly #checked: (check: () => void) => void;

  /** `checked` runs checks, whose failure inside a call would look like a failure of the ledger. */
  constructor(ledger: MemoryLedger, backing: Backing | undefined, checked: (check: () => void) => void) {
    this.#ledger = ledger;
    this.#backing = backing;
    this.#checked = checked;
  }

  readonly read: Backing['read'] = async (...key) => {
    if (this.reach !== 'here') throw new StoreUnavailable('played');
    return this.#same(this.#ledger.read(...key), this.#backing?.read(...key));
  };

  /**
   * Charges, and calls `onCommit` for a new charge. If the reach is `deaf`, the commit happens and
   * its reply is lost.
   */
  async charge(settlement: Settlement, onCommit: () => void): Promise<AccountSnapshot> {
    if (this.reach === 'away') throw new StoreUnavailable('played');
    const isNew = !this.#ledger.charges().some(({ generationId }) => generationId === settlement.generationId);
    const snapshot = await this.#same(await this.#ledger.charge(settlement), this.#backing?.charge(settlement));
    if (isNew) onCommit();
    if (this.reach === 'deaf') throw new StoreUnavailable('played');
    return snapshot;
  }

  async credit(organizationId: string, nanoUsd: bigint): Promise<void> {
    await this.#backing?.credit(organizationId, nanoUsd);
    this.#ledger.credit(organizationId, nanoUsd);
  }

  /**
   * Removes the last entries, but not the first ones. A real server only reports that it may have
   * gone back in time.
   */
  async restore(
    lostEntries: number,
    firstEntries: number,
  ): Promise<{ readonly lost: readonly Settlement[]; readonly lostCreditsNanoUsd: bigint }> {
    const possible = Math.min(lostEntries, this.#ledger.entryCount() - firstEntries);
    if (this.#backing) await this.#backing.renewEpoch();
    if (this.#backing || possible <= 0) return { lost: [], lostCreditsNanoUsd: 0n };
    const credited = this.#ledger.creditedNanoUsd();
    const lost = this.#ledger.restore(possible);
    return { lost, lostCreditsNanoUsd: credited - this.#ledger.creditedNanoUsd() };
  }

  async #same(mirror: AccountSnapshot, real: Promise<AccountSnapshot> | undefined): Promise<AccountSnapshot> {
    if (!real) return mirror;
    const snapshot = await real;
    this.#checked(() => expect({ ...mirror, ledgerEpoch: snapshot.ledgerEpoch }).toEqual(snapshot));
    return snapshot;
  }
}
