/**
 * Room for the JSON answers that the process holds at once, over all requests (DESIGN invariant 10): each is read whole, and kept until its
 * client has taken it, which a client may never do. Without it 100 clients with answers of 50 MB ended the process.
 */
export class AnswerBudget {
  readonly limitBytes: number;
  #heldBytes = 0;
  /** Rooms of answers that can be had again, and how they are given up; the oldest first. */
  readonly #yielding = new Map<AnswerRoom, () => void>();

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Room for one answer, empty at first. With `giveUp` it can be had again, and has to go where another one finds no room. */
  open(giveUp?: () => void): AnswerRoom {
    let held = 0;
    const room: AnswerRoom = {
      take: (bytes) => {
        if (this.#heldBytes + bytes > this.limitBytes && !this.#makeRoom(bytes, room)) return false;
        this.#heldBytes += bytes;
        held += bytes;
        if (giveUp) this.#yielding.set(room, giveUp);
        return true;
      },
      release: () => {
        this.#yielding.delete(room);
        this.#heldBytes -= held;
        held = 0;
      },
    };
    return room;
  }

  #makeRoom(bytes: number, asking: AnswerRoom): boolean {
    for (const [room, giveUp] of this.#yielding) {
      if (room === asking) continue;
      room.release();
      giveUp();
      if (this.#heldBytes + bytes <= this.limitBytes) return true;
    }
    return false;
  }
}

export interface AnswerRoom {
  /** False: there is no room for that much more. */
  take(bytes: number): boolean;
  release(): void;
}
