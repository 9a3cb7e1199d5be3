import { createHmac, createSecretKey } from 'node:crypto';

/**
 * Replaces a customer's own `user`, `safety_identifier` or `prompt_cache_key` towards a provider:
 * 64 hexadecimal characters, the same for the same organization, field and value, in every process
 * and after every restart, and another for any other. So organizations that share the operator's
 * account share no cache namespace and no identity, and the provider learns neither the value nor
 * who sent it.
 */
export type Identify = (organizationId: string, field: string, value: string) => string;

/** `secret` belongs to the deployment. A holder of it can test guesses of values. */
export function createIdentities(secret: Buffer): Identify {
  const key = createSecretKey(secret);
  // An array of texts as JSON is one text for one array: no value can be taken for the end of
  // another.
  return (organizationId, field, value) =>
    createHmac('sha256', key)
      .update(JSON.stringify([organizationId, field, value]))
      .digest('hex');
}
