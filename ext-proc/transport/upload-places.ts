import type { BodyBounds } from './exchange.ts';

/** An unfinished upload, which can be ended to make room for others. */
export interface Upload {
  /** Called when the upload has lost its place. */
  giveWay(): void;
}

/** An organization with this part of the places gets no more while half of all are taken. */
const PLACE_SHARE = 1 / 4;
const FREE_BEYOND_SHARE = 1 / 2;

/**
 * Places of unfinished uploads among the exchanges of a process (docs/design.md, "Uploads").
 *
 * This is not a `SharedBudget`, in which evictable memory has no bound except the total. An upload
 * costs its client nothing, so here each organization has a bound.
 */
export class UploadPlaces {
  /** Most exchanges that the process has at once. */
  readonly #most: number;
  readonly #taken: () => number;
  /** Uploads by organization, in the order of their last progress. */
  readonly #uploads = new Map<string, Set<Upload>>();

  constructor(most: number, taken: () => number) {
    this.#most = most;
    this.#taken = taken;
  }

  /** Takes a place. False: the organization has its share of unfinished uploads. */
  enter(upload: Upload, { organizationId, mostUploads }: BodyBounds): boolean {
    const own = this.#uploads.get(organizationId) ?? new Set();
    if (own.size >= mostUploads) return false;
    const isHalfTaken = this.#taken() > this.#most * FREE_BEYOND_SHARE;
    if (isHalfTaken && own.size + 1 > this.#most * PLACE_SHARE) return false;
    this.#uploads.set(organizationId, own.add(upload));
    return true;
  }

  /** Makes this upload the last of its organization to give way. */
  progressed(upload: Upload, organizationId: string): void {
    const own = this.#uploads.get(organizationId);
    if (own?.delete(upload)) own.add(upload);
  }

  leave(upload: Upload, organizationId: string): void {
    const own = this.#uploads.get(organizationId);
    if (own?.delete(upload) && own.size === 0) this.#uploads.delete(organizationId);
  }

  /** Ends the longest stalled upload of the organization that has most. False: there is none. */
  makeRoom(): boolean {
    let most: ReadonlySet<Upload> | undefined;
    for (const own of this.#uploads.values()) if (own.size > (most?.size ?? 0)) most = own;
    const [longest] = most ?? [];
    longest?.giveWay();
    return longest !== undefined;
  }
}
