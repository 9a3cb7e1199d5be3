/**
 * Room for the JSON answers that the process holds at once, over all requests (DESIGN invariant 10): each is read whole, and kept until its
 * client has taken it, which a client may never do. Without it 100 clients with answers of 50 MB ended the process.
 */
export class AnswerBudget {
  readonly limitBytes: number;
  #heldBytes = 0;
  /** Rooms that have to go where another one finds none, and how their answers are given up; in the order they came to it. */
  readonly #yielding = new Map<AnswerRoom, () => void>();

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Room for one answer, empty at first. */
  open(): AnswerRoom {
    let held = 0;
    const room: AnswerRoom = {
      take: (bytes) => {
        if (this.#heldBytes + bytes > this.limitBytes && !this.#makeRoom(bytes)) return false;
        this.#heldBytes += bytes;
        held += bytes;
        return true;
      },
      yields: (giveUp) => {
        if (held > 0) this.#yielding.set(room, giveUp);
      },
      stays: () => void this.#yielding.delete(room),
      release: () => {
        this.#yielding.delete(room);
        this.#heldBytes -= held;
        held = 0;
      },
    };
    return room;
  }

  #makeRoom(bytes: number): boolean {
    for (const [room, giveUp] of this.#yielding) {
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
  /** From now on its answer is given up where another one finds no room. */
  yields(giveUp: () => void): void;
  /** No longer. */
  stays(): void;
  release(): void;
}
