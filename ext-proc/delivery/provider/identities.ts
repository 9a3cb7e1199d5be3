import { createHmac, createSecretKey } from 'node:crypto';

/**
 * Replaces a customer's own `user`, `safety_identifier` or `prompt_cache_key` in a request to a
 * provider. The replacement has 64 hexadecimal characters. It depends on organization, field and
 * value alone, so it is the same in every process and after every restart. Organizations that share
 * the operator's account share no cache namespace and no identity, and the provider learns neither
 * the value nor who sent it.
 */
export type Identify = (organizationId: string, field: string, value: string) => string;

/** `secret` belongs to the deployment. A holder of it can test guesses of values. */
export function createIdentities(secret: Buffer): Identify {
  const key = createSecretKey(secret);
  // JSON keeps the three values apart: a plain concatenation could be the same for others.
  return (organizationId, field, value) =>
    createHmac('sha256', key)
      .update(JSON.stringify([organizationId, field, value]))
      .digest('hex');
}
