import { createDecipheriv, createHash, createHmac, hkdfSync } from 'node:crypto';
import { type DeriveKey, isInSegments, type OpenSegments, sealSegments, segmentOpener } from './sealed-segments.ts';

/**
 * View of the database on a request with an Idempotency-Key (docs/design.md, "Invariants", 9):
 * whether key and body are the same, and an answer that only those two open. A reader of the
 * database without key and body learns nothing of prompt and completion.
 */
export interface RequestSeal {
  /** Finds the row. */
  readonly keyHash: Buffer;
  /**
   * Says whether the body is the same. Keyed with the Idempotency-Key, so that a guessed body
   * cannot be confirmed without it.
   */
  readonly bodyHash: Buffer;
  seal(answer: Buffer, generationId: string): Promise<Buffer>;
  /**
   * How the answer of that generation is opened of which `sealedBytes` are stored and `head` are
   * the first. `undefined`: it was sealed whole, by the release before.
   */
  segments(head: Buffer, sealedBytes: number, generationId: string): OpenSegments | undefined;
  /** How many bytes an answer has that was sealed whole, of which so many are stored. */
  wholeBytes(sealedBytes: number): number;
  /** Opens it. Throws when the bytes are not what was sealed for this request and generation. */
  openWhole(sealed: Buffer, generationId: string): Buffer;
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

export function requestSeal(organizationId: string, idempotencyKey: string, body: Buffer): RequestSeal {
  const keyHash = createHash('sha256').update(`${organizationId}\n${idempotencyKey}`).digest();
  // Organization ids have one length, so that no two pairs of id and key read the same.
  const secret = createHmac('sha256', `${organizationId}\n${idempotencyKey}`).update(body).digest();
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secret, keyHash, purpose, KEY_BYTES));
  const bodyHash = derive('inference-gateway idempotency body');
  // Derived from the salt and the generation, so that no two answers have the same key.
  const segmentKey =
    (generationId: string): DeriveKey =>
    (salt) =>
      Buffer.from(
        hkdfSync('sha256', secret, salt, `inference-gateway idempotency segments ${generationId}`, KEY_BYTES),
      );
  return {
    keyHash,
    bodyHash,
    seal: (answer, generationId) => sealSegments(answer, segmentKey(generationId)),
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
