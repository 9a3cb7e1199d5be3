import { hash } from 'node:crypto';
import type { UtcDay } from '#core/clock.ts';
import { type Refusal, refuse } from '#core/errors/refusal.ts';
import type { Key, Principal } from '#core/principal.ts';
import type { KeyStore } from '#database/keys/key-store.ts';

/**
 * docs/interface.md, "HTTP API": the scheme in any case, one or more spaces. The
 * key is visible ASCII and at most 256 characters, checked before anything is hashed or asked, so
 * that a header of 64 KiB costs no more than a wrong key.
 */
const AUTHORIZATION = /^bearer +(sk-gw-[\x21-\x7e]{1,250})$/i;
const KEY_PREFIX = 'sk-gw-';

/**
 * Finds who is calling, whatever became of the key since. `from`: as of KeyStore. Rejects with
 * StoreUnavailable when the key store cannot answer.
 */
export async function authenticate(
  authorization: string | undefined,
  keys: KeyStore,
  day: UtcDay,
  from?: 'database',
): Promise<Principal | Refusal> {
  const key = apiKeyIn(authorization);
  if (key === undefined) return refuse('invalid_api_key');
  // By way of text: asked for a buffer, Node takes three times as long.
  const principal = await keys.findByHash(Buffer.from(hash('sha256', key, 'hex'), 'hex'), day, from);
  return principal ?? refuse('invalid_api_key');
}

/** The whole key. Nobody stores it. */
export function apiKeyIn(authorization: string | undefined): string | undefined {
  const key = authorization === undefined ? undefined : AUTHORIZATION.exec(authorization)?.[1];
  // The expression ignores case for the scheme's sake only: keys are compared exactly.
  return key?.startsWith(KEY_PREFIX) ? key : undefined;
}

/** Refusal of a revoked or expired key. */
export function checkKey({ revokedAtMs, expiresAtMs }: Key, nowMs: number): Refusal | undefined {
  if (revokedAtMs !== undefined) return refuse('key_revoked');
  return expiresAtMs !== undefined && expiresAtMs <= nowMs ? refuse('key_expired') : undefined;
}
