import type { Log } from '#core/log/log.ts';
import type { Claim, ClaimRequest, ClaimResult, IdempotencyStore } from '#database/idempotency/idempotency-store.ts';
import type { SpoolMirror } from '../../limits/spool-mirror.ts';
import { type RequestSeal, requestSeal } from './sealed-response.ts';
import { openStoredResponse, type ReadSealed, type StoredResponse } from './stored-response.ts';

/**
 * Claims idempotency keys: a request takes a key and keeps it while it lives, or finds the result
 * of an earlier request.
 */
export interface Claims {
  /** Claims a key. Rejects with StoreUnavailable. */
  claim(request: KeyedRequest): Promise<Claimed>;
  close(): void;
}

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
  /**
   * Opens the stored response. `undefined`: it was just deleted or evicted. Rejects with
   * StoreUnavailable.
   */
  open(): Promise<StoredResponse | undefined>;
}

/** Claim of a request on its key. */
export interface IdempotencyClaim extends Pick<RequestSeal, 'keyHash' | 'bodyHash'> {
  seal(response: Buffer): Promise<Buffer>;
  /**
   * Frees the key, unless it has a stored response. Never rejects: a key that cannot be freed now
   * expires with its lease.
   */
  free(): Promise<void>;
  /** Notes that the settlement ended the claim. */
  ended(): void;
}

type FinishedResult = Extract<ClaimResult, { kind: 'finished' }>;

export interface ClaimsOptions {
  readonly store: IdempotencyStore;
  readonly leaseMs: number;
  readonly renewEveryMs: number;
  /**
   * Decides about claims that count as dead, which other processes may still end. Absent: there is
   * no other process.
   */
  readonly mirror?: Pick<SpoolMirror, 'takeOverClaim'> | undefined;
  readonly log: Log;
}

/** Rows of one renewal statement. */
const RENEWED_AT_ONCE = 500;

export function createClaims({ store, leaseMs, renewEveryMs, mirror, log }: ClaimsOptions): Claims {
  const live = new Map<string, Claim>();
  let renewing = false;
  const timer = setInterval(renewAll, renewEveryMs);
  timer.unref();

  async function renewAll(): Promise<void> {
    if (renewing || live.size === 0) return;
    renewing = true;
    try {
      const all = [...live.values()];
      for (let i = 0; i < all.length; i += RENEWED_AT_ONCE)
        await store.renew(all.slice(i, i + RENEWED_AT_ONCE), leaseMs);
    } catch (error) {
      // If another request takes such a key over, the fence refuses this charge; nothing else is
      // lost.
      log.warn({ err: error, claims: live.size }, 'the leases of idempotency keys could not be renewed');
    } finally {
      renewing = false;
    }
  }

  /**
   * Takes a key. A dead claim is first taken over in the mirror: a delivered response whose charge
   * waits in a spool is alive, although it cannot renew its lease.
   */
  async function take(request: ClaimRequest): Promise<Exclude<ClaimResult, { kind: 'expired' }>> {
    const result = await store.claim({ ...request, leaveExpired: mirror !== undefined });
    if (result.kind !== 'expired') return result;
    if (!(await mirror?.takeOverClaim(request.organizationId, result.generationId))) return { kind: 'running' };
    const taken = await store.claim(request);
    return taken.kind === 'expired' ? { kind: 'running' } : taken;
  }

  function heldClaim(claim: Claim, seal: RequestSeal): IdempotencyClaim {
    const { generationId } = claim;
    live.set(generationId, claim);
    return {
      keyHash: seal.keyHash,
      bodyHash: seal.bodyHash,
      seal: (response) => seal.seal(response, generationId),
      async free() {
        if (!live.delete(generationId)) return;
        try {
          await store.free(claim);
        } catch (error) {
          log.warn(
            { err: error, generation_id: generationId },
            'an idempotency key could not be freed and expires with its lease',
          );
        }
      },
      ended: () => void live.delete(generationId),
    };
  }

  function openResponse(claim: Claim, seal: RequestSeal, { generationId, sealedBytes }: FinishedResult) {
    const finished = { ...claim, generationId };
    const read: ReadSealed = (from, bytes) => store.piece(finished, from, bytes);
    return openStoredResponse(read, seal, generationId, sealedBytes);
  }

  return {
    async claim({ organizationId, idempotencyKey, body, generationId, retentionMs }) {
      const seal = requestSeal(organizationId, idempotencyKey, body);
      const { keyHash, bodyHash } = seal;
      const claim: Claim = { organizationId, keyHash, generationId };
      const result = await take({ ...claim, bodyHash, leaseMs, retentionMs });
      switch (result.kind) {
        case 'claimed':
          return { kind: 'claimed', claim: heldClaim(claim, seal) };
        case 'finished':
          return { kind: 'finished', generationId: result.generationId, open: () => openResponse(claim, seal, result) };
        default:
          return result;
      }
    },
    close: () => clearInterval(timer),
  };
}
