import { hash, randomBytes } from 'node:crypto';

/** 256 random bits cannot be guessed, so the plain SHA-256 of a token is stored. */
const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

export interface Token {
  /** Put into the cookie or link, and not stored. */
  readonly token: string;
  readonly tokenHash: Buffer;
}

export function newToken(): Token {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  return { token, tokenHash: hash('sha256', token, 'buffer') };
}

/** `undefined` for a text that cannot be a token, so that no query is made. */
export function hashToken(token: string): Buffer | undefined {
  return TOKEN.test(token) ? hash('sha256', token, 'buffer') : undefined;
}
