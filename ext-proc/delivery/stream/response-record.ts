import type { Room, SharedBudget } from '../../shared-budget/shared-budget.ts';

/** The bytes of a stream as its client gets them, kept until they are charged, for replay. */
export class ResponseRecord {
  readonly #room: Room;
  #pieces: Buffer[] = [];

  constructor(budget: SharedBudget, organizationId: string) {
    this.#room = budget.open(organizationId);
  }

  /** False: there is no room for it, and the record is of no use any more. */
  add(bytes: Buffer): boolean {
    if (!this.#room.take(bytes.length)) return false;
    this.#pieces.push(bytes);
    return true;
  }

  whole(last: string): Buffer {
    return Buffer.concat([...this.#pieces, Buffer.from(last)]);
  }

  release(): void {
    this.#pieces = [];
    this.#room.release();
  }
}
