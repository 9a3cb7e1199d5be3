import { hash, randomBytes } from 'node:crypto';

/** Of sessions and of links that set a password. Nobody guesses 256 bits, so a plain SHA-256 is enough to keep. */
const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

export interface Token {
  /** For the cookie or the link; kept nowhere here. */
  readonly token: string;
  readonly tokenHash: Buffer;
}

export function newToken(): Token {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  return { token, tokenHash: hash('sha256', token, 'buffer') };
}

/** `undefined`: this can be no token of ours, so no database needs to be asked. */
export function hashToken(token: string): Buffer | undefined {
  return TOKEN.test(token) ? hash('sha256', token, 'buffer') : undefined;
}
