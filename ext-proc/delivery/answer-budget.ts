/**
 * Room for the JSON answers that the process holds at once, over all requests (DESIGN invariant 10): each is read whole, and kept until its
 * client has taken it, which a client may never do. Without it 100 clients with answers of 50 MB ended the process.
 */
export class AnswerBudget {
  readonly limitBytes: number;
  #heldBytes = 0;

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Room for one answer, empty at first. */
  open(): AnswerRoom {
    let held = 0;
    return {
      take: (bytes) => {
        if (this.#heldBytes + bytes > this.limitBytes) return false;
        this.#heldBytes += bytes;
        held += bytes;
        return true;
      },
      release: () => {
        this.#heldBytes -= held;
        held = 0;
      },
    };
  }
}

export interface AnswerRoom {
  /** False: there is no room for that much more. */
  take(bytes: number): boolean;
  release(): void;
}
