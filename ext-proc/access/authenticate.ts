import { hash } from 'node:crypto';
import type { UtcDay } from '#core/clock.ts';
import { type Refusal, refuse } from '#core/errors/refusal.ts';
import type { Key, Principal } from '#core/principal.ts';
import type { KeyStore } from '#database/keys/key-store.ts';

/**
 * docs/interface.md, "HTTP API": the scheme in any case, one or more spaces. The key is visible
 * ASCII and at most 256 characters. Both are checked before a hash or a query, so that a header of
 * 64 KiB costs no more than a wrong key.
 */
const AUTHORIZATION = /^bearer +(sk-gw-[\x21-\x7e]{1,250})$/i;
const KEY_PREFIX = 'sk-gw-';

/**
 * Finds the principal of a key, even if the key was revoked or has expired. `from`: see KeyStore.
 * Rejects with StoreUnavailable.
 */
export async function authenticate(
  authorization: string | undefined,
  keys: KeyStore,
  day: UtcDay,
  from?: 'database',
): Promise<Principal | Refusal> {
  const key = apiKeyIn(authorization);
  if (key === undefined) return refuse('invalid_api_key');
  // Via text: for a buffer, Node's hash() takes three times as long.
  const principal = await keys.findByHash(Buffer.from(hash('sha256', key, 'hex'), 'hex'), day, from);
  return principal ?? refuse('invalid_api_key');
}

/** The key in the header. It is never stored. */
export function apiKeyIn(authorization: string | undefined): string | undefined {
  const key = authorization === undefined ? undefined : AUTHORIZATION.exec(authorization)?.[1];
  // The expression ignores case for the scheme's sake only: keys are compared exactly.
  return key?.startsWith(KEY_PREFIX) ? key : undefined;
}

export function checkKey({ revokedAtMs, expiresAtMs }: Key, nowMs: number): Refusal | undefined {
  if (revokedAtMs !== undefined) return refuse('key_revoked');
  return expiresAtMs !== undefined && expiresAtMs <= nowMs ? refuse('key_expired') : undefined;
}
