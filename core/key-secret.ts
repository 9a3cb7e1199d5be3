import { hash, randomBytes } from 'node:crypto';
import { newId } from './ids.ts';

/** 32 random bytes (43 characters of base64url) cannot be guessed: a plain SHA-256 is safe. */
const KEY_BYTES = 32;

export interface KeyIdentity {
  readonly id: string;
  /** SHA-256 of the whole key. */
  readonly hash: Buffer;
  readonly last4: string;
}

/** Makes a new key: its secret for the holder, and its identity, which is stored. */
export function newKeySecret(nowMs: number): { readonly secret: string; readonly identity: KeyIdentity } {
  const secret = `sk-gw-${randomBytes(KEY_BYTES).toString('base64url')}`;
  const identity = { id: newId('key', nowMs), hash: hash('sha256', secret, 'buffer'), last4: secret.slice(-4) };
  return { secret, identity };
}

const KEYS = /sk-gw-[\w-]+/g;

/**
 * The text without API keys and beginnings of them, for terminals, logs and stores that others
 * read. Clients send keys where other texts belong when they mix up two variables.
 */
export function withoutKeys(text: string): string {
  return text.replaceAll(KEYS, 'sk-gw-…');
}
