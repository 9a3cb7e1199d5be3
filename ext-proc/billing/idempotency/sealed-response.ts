import { createHash, createHmac, hkdfSync } from 'node:crypto';
import {
  type DeriveKey,
  isInSegments,
  type OpenSegments,
  sealSegments,
  segmentOpener,
} from '../../fairness/sealed-segments.ts';

/**
 * Protects a request with an Idempotency-Key in the database (docs/design.md, "Invariants", 9): key
 * and body are compared by hashes, and only both together open the response. A reader of the
 * database without key and body learns nothing about prompt and completion.
 */
export interface RequestSeal {
  /** Hash that finds the row. */
  readonly keyHash: Buffer;
  /** Hash of the body with the Idempotency-Key, without which no guessed body can be confirmed. */
  readonly bodyHash: Buffer;
  seal(response: Buffer, generationId: string): Promise<Buffer>;
  /** Returns a function that opens a response's segments. Throws if `head` does not begin one. */
  segments(head: Buffer, sealedBytes: number, generationId: string): OpenSegments;
}

const KEY_BYTES = 32;

export function requestSeal(organizationId: string, idempotencyKey: string, body: Buffer): RequestSeal {
  const keyHash = createHash('sha256').update(`${organizationId}\n${idempotencyKey}`).digest();
  // Organization ids have one length, so two pairs of id and key never give the same text.
  const secret = createHmac('sha256', `${organizationId}\n${idempotencyKey}`).update(body).digest();
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secret, keyHash, purpose, KEY_BYTES));
  const bodyHash = derive('inference-gateway idempotency body');
  // Derived from salt and generation, so no two responses have the same key.
  const segmentKey =
    (generationId: string): DeriveKey =>
    (salt) =>
      Buffer.from(
        hkdfSync('sha256', secret, salt, `inference-gateway idempotency segments ${generationId}`, KEY_BYTES),
      );
  return {
    keyHash,
    bodyHash,
    seal: (response, generationId) => sealSegments(response, segmentKey(generationId)),
    segments(head, sealedBytes, generationId) {
      if (!isInSegments(head)) throw new Error('a stored response is not sealed in segments');
      return segmentOpener(head, sealedBytes, segmentKey(generationId));
    },
  };
}
