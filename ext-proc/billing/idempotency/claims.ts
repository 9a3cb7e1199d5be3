import type { Log } from '#core/log/log.ts';
import { keepDoing } from '#core/retry/keep-doing.ts';
import type { Claim, ClaimRequest, ClaimResult, IdempotencyStore } from '#database/idempotency/idempotency-store.ts';
import type { ChargeMirror } from '../../limits/charge-mirror.ts';
import { type RequestSeal, requestSeal } from './sealed-response.ts';
import { openStoredResponse, type ReadSealed, type StoredResponse } from './stored-response.ts';

export interface KeyedRequest {
  readonly organizationId: string;
  readonly idempotencyKey: string;
  readonly body: Buffer;
  readonly generationId: string;
  readonly retentionMs: number;
}

export type Claimed =
  | { readonly kind: 'reused' }
  | { readonly kind: 'running' }
  | FinishedClaim
  | { readonly kind: 'claimed'; readonly claim: IdempotencyClaim };

/** Claim of an earlier request with its stored response. */
export interface FinishedClaim {
  readonly kind: 'finished';
  readonly generationId: string;
  /** Opens the stored response. `undefined`: it is gone. Rejects with StoreUnavailable. */
  open(): Promise<StoredResponse | undefined>;
}

export interface IdempotencyClaim extends Pick<RequestSeal, 'keyHash' | 'bodyHash'> {
  seal(response: Buffer): Promise<Buffer>;
  /** Frees the key, unless it has a stored response. Never rejects: the lease expires anyway. */
  free(): Promise<void>;
  /** Notes that the settlement ended the claim. */
  ended(): void;
}

type FinishedResult = Extract<ClaimResult, { kind: 'finished' }>;

export interface ClaimsOptions {
  readonly store: IdempotencyStore;
  readonly leaseMs: number;
  readonly renewEveryMs: number;
  /** Decides who gets an expired claim that another process may finish. Absent: there is none. */
  readonly mirror?: Pick<ChargeMirror, 'takeOverClaim'> | undefined;
  readonly log: Log;
}

type LiveClaim = Claim & Pick<RequestSeal, 'bodyHash'>;

/** Rows of one renewal statement. */
const RENEWED_AT_ONCE = 500;

/** Claims an idempotency key for the lifetime of a request, or finds an earlier result. */
export class Claims {
  readonly #options: ClaimsOptions;
  /** By organization and key. */
  readonly #live = new Map<string, LiveClaim>();
  /** Ends renewals. */
  readonly close: () => void;

  constructor(options: ClaimsOptions) {
    this.#options = options;
    this.close = keepDoing(
      options.renewEveryMs,
      () => this.#renewAll(),
      // If another request takes over such a key, the ledger refuses this charge. Nothing else is
      // lost.
      (error) =>
        options.log.warn(
          { err: error, claims: this.#live.size },
          'the leases of idempotency keys could not be renewed',
        ),
      'after a pause',
    );
  }

  /** Claims a key. Rejects with StoreUnavailable. */
  async claim({ organizationId, idempotencyKey, body, generationId, retentionMs }: KeyedRequest): Promise<Claimed> {
    const seal = requestSeal(organizationId, idempotencyKey, body);
    const { keyHash, bodyHash } = seal;
    const claim = { organizationId, keyHash, bodyHash, generationId };
    // A crash of PostgreSQL may lose a claim whose response was delivered and whose charge waits in
    // the log. If a second request got the key, the first response would be free.
    const live = this.#live.get(nameOf(claim));
    if (live !== undefined) return { kind: live.bodyHash.equals(bodyHash) ? 'running' : 'reused' };
    const result = await this.#take({ ...claim, leaseMs: this.#options.leaseMs, retentionMs });
    switch (result.kind) {
      case 'claimed':
        return { kind: 'claimed', claim: this.#heldClaim(claim, seal) };
      case 'finished': {
        const open = () => this.#openResponse(claim, seal, result);
        return { kind: 'finished', generationId: result.generationId, open };
      }
      default:
        return result;
    }
  }

  /**
   * Takes a key. An expired claim has to be taken over in the mirror first: its response may have
   * been delivered, while its charge waits in a log and its lease cannot be renewed.
   */
  async #take(request: ClaimRequest): Promise<Exclude<ClaimResult, { kind: 'expired' }>> {
    const { store, mirror } = this.#options;
    const result = await store.claim({ ...request, leaveExpired: mirror !== undefined });
    if (result.kind !== 'expired') return result;
    if (!(await mirror?.takeOverClaim(request.organizationId, result.generationId))) return { kind: 'running' };
    const taken = await store.claim(request);
    return taken.kind === 'expired' ? { kind: 'running' } : taken;
  }

  #heldClaim(claim: LiveClaim, seal: RequestSeal): IdempotencyClaim {
    const { keyHash, bodyHash, generationId } = claim;
    this.#live.set(nameOf(claim), claim);
    return {
      ...{ keyHash, bodyHash },
      seal: (response) => seal.seal(response, generationId),
      free: () => this.#free(claim),
      ended: () => void this.#end(claim),
    };
  }

  /** False: the claim had ended before. */
  #end(claim: Claim): boolean {
    const name = nameOf(claim);
    return this.#live.get(name)?.generationId === claim.generationId && this.#live.delete(name);
  }

  async #free(claim: Claim): Promise<void> {
    const { generationId } = claim;
    const { store, log } = this.#options;
    if (!this.#end(claim)) return;
    try {
      await store.free(claim);
    } catch (error) {
      log.warn(
        { err: error, generation_id: generationId },
        'an idempotency key could not be freed and expires with its lease',
      );
    }
  }

  #openResponse(claim: Claim, seal: RequestSeal, { generationId, sealedBytes }: FinishedResult) {
    const finished = { ...claim, generationId };
    const read: ReadSealed = (from, bytes) => this.#options.store.piece(finished, from, bytes);
    return openStoredResponse(read, seal, generationId, sealedBytes);
  }

  async #renewAll(): Promise<void> {
    const { store, leaseMs } = this.#options;
    const all = [...this.#live.values()];
    for (let at = 0; at < all.length; at += RENEWED_AT_ONCE)
      await store.renew(all.slice(at, at + RENEWED_AT_ONCE), leaseMs);
  }
}

function nameOf({ organizationId, keyHash }: Claim): string {
  return `${organizationId} ${keyHash.toString('base64')}`;
}
