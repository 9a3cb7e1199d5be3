import type { MemoryReservation, SharedBudget } from '../../fairness/shared-budget.ts';

/** Bytes of a stream as the client gets them, stored for replay with the charge. */
export class ResponseRecord {
  readonly #reservation: MemoryReservation;
  #pieces: Buffer[] = [];

  constructor(budget: SharedBudget, organizationId: string) {
    this.#reservation = budget.open(organizationId);
  }

  /** Adds bytes. False: there is no memory for them, so the response cannot be stored. */
  add(bytes: Buffer): boolean {
    if (!this.#reservation.take(bytes.length)) return false;
    this.#pieces.push(bytes);
    return true;
  }

  whole(last: string): Buffer {
    return Buffer.concat([...this.#pieces, Buffer.from(last)]);
  }

  release(): void {
    this.#pieces = [];
    this.#reservation.release();
  }
}
