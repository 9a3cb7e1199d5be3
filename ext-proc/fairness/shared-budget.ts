/** An owner of memory that can be evicted. */
export interface Evictable {
  /** Called when the budget has counted the memory as free: it must not be used any more. */
  evict(): void;
}

/**
 * Reason of a refusal or an eviction. `share`: its organization has its share, or holds the most.
 * `full`: others hold all of it within their shares. `gave_way`: evicted for others.
 */
export type BudgetRefusal = 'share' | 'full' | 'gave_way';

/** Memory that one organization holds. */
interface HeldMemory {
  heldBytes: number;
  /** The part that cannot be evicted. */
  pinnedBytes: number;
  /** Evictable reservations that hold something. The one that progressed last is the last. */
  readonly evictable: Set<MemoryReservation>;
}

/** Part of the budget that an organization may pin while others need memory. */
const MEMORY_SHARE = 1 / 4;
/** Beyond its share an organization pins memory only while this part of the budget is unpinned. */
const UNPINNED_BEYOND_SHARE = 1 / 2;

/** Owner of bytes of requests whose organization is not known yet. */
const UNKNOWN_ORGANIZATION = '';

/**
 * Memory that organizations share (docs/design.md, "Invariants", 10).
 *
 * When it is full, a reservation of the organization that holds most is evicted: the one without
 * progress for longest. Pinned memory is bounded: beyond a quarter of the budget an organization
 * pins memory only while half of the budget is unpinned. So one organization alone can use all of
 * it, and within a quarter no organization is refused because of one or two others.
 */
export class SharedBudget {
  readonly limitBytes: number;
  readonly #onRefused: (why: BudgetRefusal) => void;
  #heldBytes = 0;
  #pinnedBytes = 0;
  /** By organization, for those that hold something. */
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

  /** True: an evictable reservation may be pinned. One without bytes takes nothing from anybody. */
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
   * The reservation to evict. An evictable one that asks for memory is chosen before those of
   * organizations that hold less.
   */
  #victim(asking: MemoryReservation, bytes: number): MemoryReservation | undefined {
    let most: HeldMemory | undefined;
    for (const held of this.#held.values())
      if (held.evictable.size > 0 && (most === undefined || held.heldBytes > most.heldBytes)) most = held;
    if (asking.evictable !== undefined) {
      const own = this.#held.get(asking.organizationId);
      if (most === undefined || (own?.heldBytes ?? 0) + bytes > most.heldBytes) most = own;
    }
    return most?.evictable.values().next().value;
  }

  /** Counts bytes that a reservation has more, or less. */
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
  /** Only the budget writes this and the next two. */
  organizationId: string;
  heldBytes = 0;
  /** Absent: the memory is pinned. */
  evictable: Evictable | undefined;

  constructor(budget: SharedBudget, organizationId: string) {
    this.#budget = budget;
    this.organizationId = organizationId;
  }

  /** False: there is no room for so many bytes more. */
  take(bytes: number): boolean {
    return this.#budget.add(this, bytes);
  }

  /** Called when the organization is known. */
  assignTo(organizationId: string): void {
    this.#become(organizationId, this.evictable);
  }

  /** From now on the memory is evicted where others find no room. */
  makeEvictable(owner: Evictable): void {
    this.#become(this.organizationId, owner);
  }

  /** Makes this reservation the last of its organization to be evicted. */
  progressed(): void {
    this.#budget.moveBack(this);
  }

  /** False: its organization has pinned its share, so others may still evict it. */
  pin(): boolean {
    if (this.evictable === undefined) return true;
    if (!this.#budget.allowPin(this)) return false;
    this.#become(this.organizationId, undefined);
    return true;
  }

  /** Frees the rest. */
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

  /** Takes the bytes out, and puts them back under another organization or kind. */
  #become(organizationId: string, evictable: Evictable | undefined): void {
    const bytes = this.heldBytes;
    if (bytes > 0) this.#budget.change(this, -bytes);
    this.organizationId = organizationId;
    this.evictable = evictable;
    if (bytes > 0) this.#budget.change(this, bytes);
  }
}
