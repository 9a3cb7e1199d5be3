import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';

/**
 * What the database sees of a request with an Idempotency-Key (DESIGN invariant 9): whether key and body are the same, and an answer that only
 * those two open. Whoever has the database but neither key nor body reads nothing of prompt and completion.
 */
export interface RequestSeal {
  /** Finds the row. */
  readonly keyHash: Buffer;
  /** Says whether the body is the same. Keyed with the Idempotency-Key, so that a guessed body cannot be confirmed without it. */
  readonly bodyHash: Buffer;
  seal(answer: Buffer, generationId: string): Buffer;
  /** Throws when the bytes are not what was sealed for this request and generation. */
  open(sealed: Buffer, generationId: string): Buffer;
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
  const answerKey = () => derive('inference-gateway idempotency answer');
  return {
    keyHash,
    bodyHash,
    seal(answer, generationId) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, answerKey(), nonce).setAAD(Buffer.from(generationId));
      const sealed = cipher.update(answer);
      return Buffer.concat([nonce, sealed, cipher.final(), cipher.getAuthTag()]);
    },
    open(sealed, generationId) {
      const end = sealed.length - TAG_BYTES;
      const decipher = createDecipheriv(CIPHER, answerKey(), sealed.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(Buffer.from(generationId)).setAuthTag(sealed.subarray(end));
      const opened = decipher.update(sealed.subarray(NONCE_BYTES, end));
      decipher.final();
      return opened;
    },
  };
}
