/** How many bytes of request bodies the process may hold at once, over all requests (DESIGN invariant 10). */
export class BodyBudget {
  readonly #limitBytes: number;
  #heldBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  take(bytes: number): boolean {
    if (this.#heldBytes + bytes > this.#limitBytes) return false;
    this.#heldBytes += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#heldBytes -= bytes;
  }
}
