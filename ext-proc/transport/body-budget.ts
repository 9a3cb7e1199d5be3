/** A body that is still coming. */
export interface Upload {
  /** Frees what it holds. */
  giveUp(): void;
}

/**
 * How many bytes of request bodies the process may hold at once, over all requests (DESIGN invariant 10). Where there is no more room the
 * upload gives way that has not got on for longest: clients that send most of a large body and then nothing would hold all of it for as
 * long as a request may last, and everybody else be refused.
 */
export class BodyBudget {
  readonly #limitBytes: number;
  #heldBytes = 0;
  /** The one that got on last stands last. */
  readonly #uploads = new Set<Upload>();

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** `getsOn`: these bytes are more than a sign of life. False: there is no room, and it is this upload that has to give way. */
  take(bytes: number, upload: Upload, getsOn: boolean): boolean {
    if (getsOn) {
      this.#uploads.delete(upload);
      this.#uploads.add(upload);
    }
    if (this.#heldBytes + bytes > this.#limitBytes && !this.#makeRoom(bytes, upload)) return false;
    this.#heldBytes += bytes;
    return true;
  }

  /** It has ended, however that was; what it holds may stay. */
  ended(upload: Upload): void {
    this.#uploads.delete(upload);
  }

  release(bytes: number): void {
    this.#heldBytes -= bytes;
  }

  #makeRoom(bytes: number, asking: Upload): boolean {
    for (const upload of this.#uploads) {
      if (upload === asking) return false;
      upload.giveUp();
      if (this.#heldBytes + bytes <= this.#limitBytes) return true;
    }
    return false;
  }
}
