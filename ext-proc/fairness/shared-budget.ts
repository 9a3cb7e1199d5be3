/** An owner of memory that can be evicted. */
export interface Evictable {
  /** Called when the budget has counted the memory as free. It must not be used any more. */
  evict(): void;
}

/**
 * Reason of a refusal or an eviction. `share`: the organization would have more than its share.
 * `full`: it would not, but nothing can be evicted. `gave_way`: evicted for another reservation.
 */
export type BudgetRefusal = 'share' | 'full' | 'gave_way';

interface HeldMemory {
  heldBytes: number;
  /** The part that cannot be evicted. */
  pinnedBytes: number;
  /** Evictable reservations with memory, in the order of their last progress. */
  readonly evictable: Set<MemoryReservation>;
}

/** Part of the budget that an organization may always pin. */
const MEMORY_SHARE = 1 / 4;
/** Beyond its share an organization pins memory only while this part of the budget is unpinned. */
const UNPINNED_BEYOND_SHARE = 1 / 2;

/** Owner of bytes of requests whose organization is not known yet. */
const UNKNOWN_ORGANIZATION = '';

/**
 * Memory that organizations share (docs/design.md, "Invariants", 10).
 *
 * When the budget is full, a reservation of the organization that holds most is evicted: the one
 * without progress for longest. Pinned memory is bounded: beyond a quarter of the budget an
 * organization pins memory only while half of the budget is unpinned. So one organization alone can
 * use all of it, and one or two others never cause a refusal within an organization's quarter. An
 * organization beyond its quarter never evicts one that is within.
 */
export class SharedBudget {
  readonly limitBytes: number;
  readonly #onRefused: (why: BudgetRefusal) => void;
  #heldBytes = 0;
  #pinnedBytes = 0;
  readonly #held = new Map<string, HeldMemory>();

  constructor(limitBytes: number, onRefused: (why: BudgetRefusal) => void = () => undefined) {
    this.limitBytes = limitBytes;
    this.#onRefused = onRefused;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Opens the reservation of one body or response, empty at first. */
  open(organizationId = UNKNOWN_ORGANIZATION): MemoryReservation {
    return new MemoryReservation(this, organizationId);
  }

  /** Adds bytes to a reservation, if there is room for them. */
  add(reservation: MemoryReservation, bytes: number): boolean {
    const { organizationId } = reservation;
    if (reservation.evictable === undefined && !this.#mayPin(organizationId, bytes)) return this.#refuse('share');
    if (this.#heldBytes + bytes > this.limitBytes && !this.#makeRoom(reservation, bytes))
      return this.#refuse(this.#isBeyondShare(organizationId, bytes) ? 'share' : 'full');
    this.change(reservation, bytes);
    return true;
  }

  /** True if an evictable reservation may be pinned. One without bytes always may. */
  allowPin(reservation: MemoryReservation): boolean {
    if (reservation.heldBytes === 0) return true;
    return this.#mayPin(reservation.organizationId, reservation.heldBytes) || this.#refuse('share');
  }

  #mayPin(organizationId: string, bytes: number): boolean {
    if (this.#pinnedBytes + bytes <= this.limitBytes * UNPINNED_BEYOND_SHARE) return true;
    const pinned = this.#held.get(organizationId)?.pinnedBytes ?? 0;
    return pinned + bytes <= this.limitBytes * MEMORY_SHARE;
  }

  #isBeyondShare(organizationId: string, bytes: number): boolean {
    return (this.#held.get(organizationId)?.heldBytes ?? 0) + bytes > this.limitBytes * MEMORY_SHARE;
  }

  #refuse(why: BudgetRefusal): false {
    this.#onRefused(why);
    return false;
  }

  #makeRoom(asking: MemoryReservation, bytes: number): boolean {
    while (this.#heldBytes + bytes > this.limitBytes) {
      const victim = this.#victim(asking, bytes);
      if (victim === undefined || victim === asking) return false;
      this.#onRefused('gave_way');
      victim.evict();
    }
    return true;
  }

  /**
   * The reservation to evict: the one without progress for longest, of the organization that holds
   * most. The organization of `asking` counts as if it had the bytes already. If it would hold
   * most, all of it pinned, the next one gives way, but none within its share to one beyond.
   */
  #victim(asking: MemoryReservation, bytes: number): MemoryReservation | undefined {
    let most: HeldMemory | undefined;
    for (const held of this.#held.values())
      if (held.evictable.size > 0 && (most === undefined || held.heldBytes > most.heldBytes)) most = held;
    if (most === undefined) return undefined;
    const own = this.#held.get(asking.organizationId);
    if ((own?.heldBytes ?? 0) + bytes > most.heldBytes) {
      const isAllPinned = asking.evictable === undefined && (own?.evictable.size ?? 0) === 0;
      if (!isAllPinned) most = own;
      else if (this.#isBeyondShare(asking.organizationId, bytes) && most.heldBytes <= this.limitBytes * MEMORY_SHARE)
        return undefined;
    }
    return most?.evictable.values().next().value;
  }

  /** Adds bytes to a reservation, or subtracts them, without any check. */
  change(reservation: MemoryReservation, bytes: number): void {
    let held = this.#held.get(reservation.organizationId);
    if (held === undefined) {
      held = { heldBytes: 0, pinnedBytes: 0, evictable: new Set() };
      this.#held.set(reservation.organizationId, held);
    }
    this.#heldBytes += bytes;
    held.heldBytes += bytes;
    reservation.heldBytes += bytes;
    if (reservation.evictable === undefined) {
      this.#pinnedBytes += bytes;
      held.pinnedBytes += bytes;
    } else if (reservation.heldBytes === 0) held.evictable.delete(reservation);
    else if (reservation.heldBytes === bytes) held.evictable.add(reservation);
    if (held.heldBytes === 0) this.#held.delete(reservation.organizationId);
  }

  /** Makes an evictable reservation the last of its organization. */
  moveBack(reservation: MemoryReservation): void {
    const evictable = this.#held.get(reservation.organizationId)?.evictable;
    if (evictable?.delete(reservation)) evictable.add(reservation);
  }
}

/** Memory that one body or response holds. It begins pinned. */
export class MemoryReservation {
  readonly #budget: SharedBudget;
  /** Owners only read this and the next two. */
  organizationId: string;
  heldBytes = 0;
  /** Absent: the memory is pinned. */
  evictable: Evictable | undefined;

  constructor(budget: SharedBudget, organizationId: string) {
    this.#budget = budget;
    this.organizationId = organizationId;
  }

  /** Reserves further bytes. False: there is no room for them. */
  take(bytes: number): boolean {
    return this.#budget.add(this, bytes);
  }

  /** Called when the organization is known. */
  assignTo(organizationId: string): void {
    this.#become(organizationId, this.evictable);
  }

  /** Lets the budget evict the memory when others find no room. */
  makeEvictable(owner: Evictable): void {
    this.#become(this.organizationId, owner);
  }

  /** Makes this reservation the last of its organization to be evicted. */
  progressed(): void {
    this.#budget.moveBack(this);
  }

  /** Ends `makeEvictable`. False: its organization has pinned its share, so it stays evictable. */
  pin(): boolean {
    if (this.evictable === undefined) return true;
    if (!this.#budget.allowPin(this)) return false;
    this.#become(this.organizationId, undefined);
    return true;
  }

  /** Frees all bytes beyond these. */
  shrinkTo(bytes: number): void {
    if (bytes < this.heldBytes) this.#budget.change(this, bytes - this.heldBytes);
  }

  release(): void {
    this.shrinkTo(0);
  }

  /** Frees the memory for the budget, and notifies its owner. */
  evict(): void {
    this.release();
    this.evictable?.evict();
  }

  /** Counts the bytes under another organization or kind. */
  #become(organizationId: string, evictable: Evictable | undefined): void {
    const bytes = this.heldBytes;
    if (bytes > 0) this.#budget.change(this, -bytes);
    this.organizationId = organizationId;
    this.evictable = evictable;
    if (bytes > 0) this.#budget.change(this, bytes);
  }
}
