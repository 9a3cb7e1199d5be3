import type { MemoryReservation, SharedBudget } from '../../shared-budget/shared-budget.ts';

/** The bytes of a stream as its client gets them, kept until they are charged, for replay. */
export class ResponseRecord {
  readonly #reservation: MemoryReservation;
  #pieces: Buffer[] = [];

  constructor(budget: SharedBudget, organizationId: string) {
    this.#reservation = budget.open(organizationId);
  }

  /** False: there is no room for it, and the record is of no use any more. */
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
