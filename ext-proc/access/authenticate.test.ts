import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isRefusal } from '#core/errors/refusal.ts';
import type { Principal } from '#core/principal.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { KeyStore } from '#database/keys/key-store.ts';
import { principalWith } from '#test/fixtures/principal.ts';
import { authenticate, checkKey } from './authenticate.ts';

const KEY = 'sk-gw-0123456789abcdefghijABCDEFGHIJ0123456789abc';
const NOW_MS = 1_800_000_000_000;

class KeysOf implements KeyStore {
  asked = 0;
  readonly #principals: ReadonlyMap<string, Principal>;

  constructor(principals: Readonly<Record<string, Principal>>) {
    const hashed = Object.entries(principals).map(
      ([key, principal]) => [createHash('sha256').update(key).digest('hex'), principal] as const,
    );
    this.#principals = new Map(hashed);
  }

  async findByHash(hash: Buffer): Promise<Principal | undefined> {
    this.asked++;
    return this.#principals.get(hash.toString('hex'));
  }
}

const codeFor = async (authorization: string | undefined, principal = principalWith()) => {
  const result = await authenticate(authorization, new KeysOf({ [KEY]: principal }), 1);
  const refusal = isRefusal(result) ? result : checkKey(result.key, NOW_MS);
  return refusal?.code ?? 'ok';
};

describe('the Authorization header', () => {
  it.each([`Bearer ${KEY}`, `bearer ${KEY}`, `BEARER    ${KEY}`])('%s is accepted', async (header) => {
    expect(await codeFor(header)).toBe('ok');
  });

  it.each([
    undefined,
    '',
    KEY,
    'Bearer',
    'Bearer ',
    `Bearer\t${KEY}`,
    ` Bearer ${KEY}`,
    `Bearer ${KEY} `,
    `Bearer ${KEY}, Bearer ${KEY}`,
    `Basic ${KEY}`,
    `Bearer ${KEY.slice(0, -1)}`,
    `Bearer ${KEY.toUpperCase()}`,
    `Bearer SK-GW-${KEY.slice(6)}`,
    `Bearer sk-${KEY.slice(6)}`,
    'Bearer sk-gw-',
    `Bearer ${KEY}é`,
  ])('%s is an invalid key', async (header) => expect(await codeFor(header)).toBe('invalid_api_key'));

  it('is bounded before the store is queried', async () => {
    const keys = new KeysOf({});
    expect(await authenticate(`Bearer sk-gw-${'x'.repeat(251)}`, keys, 1)).toMatchObject({
      code: 'invalid_api_key',
    });
    expect(keys.asked).toBe(0);
    await authenticate(`Bearer sk-gw-${'x'.repeat(250)}`, keys, 1);
    expect(keys.asked).toBe(1);
  });

  it('does not query the store for a key without the exact prefix', async () => {
    const keys = new KeysOf({ 'SK-GW-abc': principalWith() });
    expect(await authenticate('Bearer SK-GW-abc', keys, 1)).toMatchObject({ code: 'invalid_api_key' });
    expect(keys.asked).toBe(0);
  });
});

describe('the state of a key', () => {
  it('is revoked rather than expired if both apply', async () => {
    const header = `Bearer ${KEY}`;
    expect(await codeFor(header, principalWith({ revokedAtMs: 1, expiresAtMs: 1 }))).toBe('key_revoked');
    expect(await codeFor(header, principalWith({ expiresAtMs: NOW_MS }))).toBe('key_expired');
    expect(await codeFor(header, principalWith({ expiresAtMs: NOW_MS + 1 }))).toBe('ok');
  });

  it('does not hide whose key it is', async () => {
    const principal = principalWith({ revokedAtMs: 1 });
    expect(await authenticate(`Bearer ${KEY}`, new KeysOf({ [KEY]: principal }), 1)).toBe(principal);
  });

  it('is unknown, not refused, while the store is unavailable', async () => {
    const away: KeyStore = { findByHash: () => Promise.reject(new StoreUnavailable('away')) };
    await expect(authenticate(`Bearer ${KEY}`, away, 1)).rejects.toBeInstanceOf(StoreUnavailable);
  });
});
