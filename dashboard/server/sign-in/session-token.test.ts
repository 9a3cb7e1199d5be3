import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { hashToken, newToken } from './session-token.ts';

it('a token is 32 random bytes in base64url, of which only the SHA-256 is stored', () => {
  const { token, tokenHash } = newToken();
  expect(Buffer.from(token, 'base64url')).toHaveLength(32);
  expect(tokenHash).toEqual(createHash('sha256').update(token).digest());
  expect(hashToken(token)).toEqual(tokenHash);
  expect(newToken().token).not.toBe(token);
});

it.each(['', 'x', `${'a'.repeat(43)}=`, 'a'.repeat(44), `${'a'.repeat(42)}+`, `${'a'.repeat(42)}\n`])(
  '%j is no token of ours',
  (text) => {
    expect(hashToken(text)).toBeUndefined();
  },
);
