import { createHmac, hkdfSync } from 'node:crypto';
import { HEAD_BYTES, isInSegments, sealSegments, segmentOpener } from '../fairness/sealed-segments.ts';

/**
 * Seals reasoning for its store with keys that are derived from the request's API key, which is not
 * stored anywhere. A reader of Redis learns nothing. Another API key finds nothing, even one of the
 * same organization.
 */
export type ReasoningSeal = ReturnType<typeof reasoningSeal>;

const KEY_BYTES = 32;

export function reasoningSeal(organizationId: string, apiKey: string) {
  const derive = (secret: string | Buffer, salt: string | Buffer, purpose: string) =>
    Buffer.from(hkdfSync('sha256', secret, salt, purpose, KEY_BYTES));
  const secret = derive(apiKey, organizationId, 'inference-gateway kept reasoning');
  const nameKey = derive(secret, organizationId, 'names');
  const saltKey = derive(secret, organizationId, 'salts');
  // Derived from a salt of the text, so no two texts have the same key.
  const keyOf = (name: string) => (salt: Buffer) => derive(secret, salt, `message ${name}`);
  return {
    /** Name of a message in the store. `calls`: what it answers, and its tool calls, as text. */
    nameOf: (calls: string): string => createHmac('sha256', nameKey).update(calls).digest('base64url'),
    /** Equal texts of one name are sealed as equal bytes, by which a store recognizes them. */
    seal: (name: string, text: Buffer): Promise<Buffer> =>
      sealSegments(text, keyOf(name), createHmac('sha256', saltKey).update(text).digest()),
    /** `undefined`: `sealed` was not sealed under this name. */
    open(name: string, sealed: Buffer): Buffer | undefined {
      if (!isInSegments(sealed)) return undefined;
      try {
        return segmentOpener(sealed, sealed.length, keyOf(name))(sealed.subarray(HEAD_BYTES), 0);
      } catch {
        // Somebody else has written to Redis.
        return undefined;
      }
    },
  };
}
