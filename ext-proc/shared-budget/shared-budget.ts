/** Something that can give its memory up. */
export interface Yielding {
  /** The memory is free already, and must not be used any more. */
  giveUp(): void;
}

/**
 * `share`: its organization has its share, or holds the most. `full`: others hold all of it within
 * their shares. `gave_way`: others wanted what could be given up.
 */
export type Refused = 'share' | 'full' | 'gave_way';

/** The memory that one organization holds. */
interface Share {
  heldBytes: number;
  /** The part that cannot be given up. */
  keptBytes: number;
  /** Rooms that can be given up and hold something: the one that got on last stands last. */
  readonly yielding: Set<Room>;
}

/** While others want some, an organization keeps this part. */
const SHARE = 1 / 4;
/**
 * Beyond its share an organization keeps something only while so much of all is not kept by
 * anybody.
 */
const FREE_BEYOND_SHARE = 1 / 2;

/** Bytes of requests that are not known to be of any organization yet. */
const NOBODY = '';

/**
 * Memory that organizations share (docs/design.md, "Invariants", 10). Where it is full, the
 * organization that holds most of what can be given up gives way, with what has not got on for
 * longest. What cannot be given up is bounded: beyond a quarter an organization keeps something
 * only while half of all stays free of such. So one alone can use all of it, and none can keep
 * others out: within a quarter nobody is refused for what one other organization does, nor for what
 * two others do.
 */
export class SharedBudget {
  readonly limitBytes: number;
  readonly #onRefused: (why: Refused) => void;
  #heldBytes = 0;
  #keptBytes = 0;
  /** Shares of organizations that hold something. */
  readonly #shares = new Map<string, Share>();

  constructor(limitBytes: number, onRefused: (why: Refused) => void = () => undefined) {
    this.limitBytes = limitBytes;
    this.#onRefused = onRefused;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Room for one body or answer, empty at first. */
  open(organizationId = NOBODY): Room {
    return new Room(this, organizationId);
  }

  /** For a room: so many bytes more. */
  add(room: Room, bytes: number): boolean {
    if (room.yieldsTo === undefined && !this.#mayKeep(room.organizationId, bytes)) return this.#refuse('share');
    if (this.#heldBytes + bytes > this.limitBytes && !this.#makeRoom(room, bytes))
      return this.#refuse(this.#isBeyondShare(room.organizationId, bytes) ? 'share' : 'full');
    this.change(room, bytes);
    return true;
  }

  /** For a room that yields: it may not be given up any more. */
  keep(room: Room): boolean {
    return this.#mayKeep(room.organizationId, room.heldBytes) || this.#refuse('share');
  }

  #mayKeep(organizationId: string, bytes: number): boolean {
    if (this.#keptBytes + bytes <= this.limitBytes * FREE_BEYOND_SHARE) return true;
    const kept = this.#shares.get(organizationId)?.keptBytes ?? 0;
    return kept + bytes <= this.limitBytes * SHARE;
  }

  #isBeyondShare(organizationId: string, bytes: number): boolean {
    return (this.#shares.get(organizationId)?.heldBytes ?? 0) + bytes > this.limitBytes * SHARE;
  }

  #refuse(why: Refused): false {
    this.#onRefused(why);
    return false;
  }

  #makeRoom(asking: Room, bytes: number): boolean {
    while (this.#heldBytes + bytes > this.limitBytes) {
      const victim = this.#leastOf(asking, bytes);
      if (victim === undefined || victim === asking) return false;
      this.#onRefused('gave_way');
      victim.giveUp();
    }
    return true;
  }

  /**
   * The room that gives way first. A room that asks and can be given up itself goes before those of
   * organizations that hold less.
   */
  #leastOf(asking: Room, bytes: number): Room | undefined {
    let most: Share | undefined;
    for (const share of this.#shares.values())
      if (share.yielding.size > 0 && (most === undefined || share.heldBytes > most.heldBytes)) most = share;
    if (asking.yieldsTo !== undefined) {
      const own = this.#shares.get(asking.organizationId);
      if (most === undefined || (own?.heldBytes ?? 0) + bytes > most.heldBytes) most = own;
    }
    return most?.yielding.values().next().value;
  }

  /** For a room: it holds so many bytes more, or less. */
  change(room: Room, bytes: number): void {
    let share = this.#shares.get(room.organizationId);
    if (share === undefined) {
      share = { heldBytes: 0, keptBytes: 0, yielding: new Set() };
      this.#shares.set(room.organizationId, share);
    }
    this.#heldBytes += bytes;
    share.heldBytes += bytes;
    room.heldBytes += bytes;
    if (room.yieldsTo === undefined) {
      this.#keptBytes += bytes;
      share.keptBytes += bytes;
    } else if (room.heldBytes === 0) share.yielding.delete(room);
    else if (room.heldBytes === bytes) share.yielding.add(room);
    if (share.heldBytes === 0) this.#shares.delete(room.organizationId);
  }

  /** For a room that yields: it stands last among those of its organization. */
  moveBack(room: Room): void {
    const yielding = this.#shares.get(room.organizationId)?.yielding;
    if (yielding?.delete(room)) yielding.add(room);
  }
}

/** The memory that one body or answer holds. Others cannot take it until `yields`. */
export class Room {
  readonly #budget: SharedBudget;
  /** For the budget alone, as the next two. */
  organizationId: string;
  heldBytes = 0;
  yieldsTo: Yielding | undefined;

  constructor(budget: SharedBudget, organizationId: string) {
    this.#budget = budget;
    this.organizationId = organizationId;
  }

  /** False: there is no room for that much more. */
  take(bytes: number): boolean {
    return this.#budget.add(this, bytes);
  }

  /** Called when the organization is known. */
  belongsTo(organizationId: string): void {
    this.#become(organizationId, this.yieldsTo);
  }

  /** From now on it is given up where others find no room. */
  yields(to: Yielding): void {
    this.#become(this.organizationId, to);
  }

  /** Makes this room the last of its organization's to be given up. */
  getsOn(): void {
    this.#budget.moveBack(this);
  }

  /**
   * From now on others cannot take it. False: they still can, because its organization keeps its
   * share already.
   */
  stays(): boolean {
    if (this.yieldsTo === undefined) return true;
    if (!this.#budget.keep(this)) return false;
    this.#become(this.organizationId, undefined);
    return true;
  }

  /** The rest is free. */
  shrinkTo(bytes: number): void {
    if (bytes < this.heldBytes) this.#budget.change(this, bytes - this.heldBytes);
  }

  /** All of it is free. */
  release(): void {
    this.shrinkTo(0);
  }

  /** Evicts the memory for the budget, and notifies its owner. */
  giveUp(): void {
    this.release();
    this.yieldsTo?.giveUp();
  }

  /** Takes its bytes out, and puts them back under another organization or kind. */
  #become(organizationId: string, yieldsTo: Yielding | undefined): void {
    const bytes = this.heldBytes;
    if (bytes > 0) this.#budget.change(this, -bytes);
    this.organizationId = organizationId;
    this.yieldsTo = yieldsTo;
    if (bytes > 0) this.#budget.change(this, bytes);
  }
}
