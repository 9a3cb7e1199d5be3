import { createDecipheriv, createHash, createHmac, hkdfSync } from 'node:crypto';
import {
  type DeriveKey,
  isInSegments,
  type OpenSegments,
  sealSegments,
  segmentOpener,
} from '../../fairness/sealed-segments.ts';

/**
 * Seals a request with an Idempotency-Key towards the database (docs/design.md, "Invariants", 9):
 * hashes to compare key and body, and a response that only those two open. A reader of the database
 * without key and body learns nothing of prompt and completion.
 */
export interface RequestSeal {
  /** Hash that finds the row. */
  readonly keyHash: Buffer;
  /**
   * Hash that compares the body. Keyed with the Idempotency-Key, so that a guessed body cannot be
   * confirmed without it.
   */
  readonly bodyHash: Buffer;
  seal(response: Buffer, generationId: string): Promise<Buffer>;
  /**
   * Returns a function that opens the segments of a response; `head` is its first bytes.
   * `undefined`: the former release sealed it whole.
   */
  segments(head: Buffer, sealedBytes: number, generationId: string): OpenSegments | undefined;
  /** Size of a response that was sealed whole. */
  wholeBytes(sealedBytes: number): number;
  /**
   * Opens a response that was sealed whole. Throws if the bytes are not what was sealed for this
   * request and generation.
   */
  openWhole(sealed: Buffer, generationId: string): Buffer;
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
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
    segments: (head, sealedBytes, generationId) =>
      isInSegments(head) ? segmentOpener(head, sealedBytes, segmentKey(generationId)) : undefined,
    wholeBytes: (sealedBytes) => sealedBytes - NONCE_BYTES - TAG_BYTES,
    openWhole(sealed, generationId) {
      const end = sealed.length - TAG_BYTES;
      const key = derive('inference-gateway idempotency answer');
      const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(generationId)).setAuthTag(sealed.subarray(end));
      const opened = decipher.update(sealed.subarray(NONCE_BYTES, end));
      decipher.final();
      return opened;
    },
  };
}
