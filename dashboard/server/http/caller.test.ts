import { describe, expect, it } from 'vitest';
import { callerOf, isCrossSite } from './caller.ts';
import type { Settings } from './settings.ts';

const SETTINGS: Settings = {
  api: { host: '0.0.0.0', port: 8080 },
  apiSpeaksTls: false,
  apis: [],
  privateNetworks: [],
  trustedProxies: ['10.0.0.0/8'],
  session: { idleMs: 604_800_000, absoluteMs: 2_592_000_000, freshPasswordMs: 600_000 },
  signIn: { password: true },
  brand: {},
};

function caller(peerAddress: string, headers: Record<string, string>, change: Partial<Settings> = {}) {
  return callerOf({ peerAddress, header: (name) => headers[name] }, { ...SETTINGS, ...change });
}

describe('a caller', () => {
  const forwarded = { host: 'd.example', 'x-forwarded-for': '192.0.2.7', 'x-forwarded-proto': 'https' };

  it('is the peer of the connection, in any notation', () => {
    expect(caller('::ffff:127.0.0.1', { host: 'd.example' })).toEqual({
      address: '127.0.0.1',
      origin: 'http://d.example',
    });
  });

  it('is the client that a trusted proxy names, with its scheme', () => {
    expect(caller('10.1.2.3', forwarded)).toEqual({ address: '192.0.2.7', origin: 'https://d.example' });
    expect(caller('::ffff:10.1.2.3', forwarded)).toEqual({ address: '192.0.2.7', origin: 'https://d.example' });
  });

  it('cannot claim another address, nor TLS', () => {
    const found = caller('192.0.2.200', forwarded);
    expect(found).toEqual({ address: '192.0.2.200', origin: 'http://d.example', claimedAddress: '192.0.2.7' });
  });

  it.each<[Record<string, string>, string]>([
    [{ 'x-forwarded-for': '203.0.113.1, 192.0.2.7' }, '192.0.2.7'],
    [{ 'x-forwarded-for': '192.0.2.7:4711' }, '192.0.2.7'],
    [{ 'x-forwarded-for': '' }, ''],
    [{ 'x-forwarded-for': `a, ${'x'.repeat(100)}` }, 'x'.repeat(64)],
    [{ forwarded: 'for=203.0.113.1, for=192.0.2.7;proto=https' }, '192.0.2.7'],
    [{ forwarded: 'proto=https;for="[2001:db8::7]:4711"' }, '2001:db8::7'],
    [{ forwarded: 'proto=https' }, ''],
  ])('behind an untrusted proxy is claimed by %j to be %j', (headers, claimed) => {
    expect(caller('192.0.2.200', headers).claimedAddress).toBe(claimed);
    expect(caller('10.0.0.1', headers)).not.toHaveProperty('claimedAddress');
  });

  it('uses the configured origin', () => {
    const url = new URL('https://dashboard.example.com');
    expect(caller('192.0.2.200', { host: 'other' }, { url }).origin).toBe('https://dashboard.example.com');
    const withPath = new URL('https://dashboard.example.com:8443/somewhere/');
    expect(caller('192.0.2.200', {}, { url: withPath }).origin).toBe('https://dashboard.example.com:8443');
  });

  it('has a user agent of at most 200 characters, or none', () => {
    expect(caller('192.0.2.1', { host: 'd', 'user-agent': 'x'.repeat(500) }).userAgent).toBe('x'.repeat(200));
    expect(caller('192.0.2.1', { host: 'd', 'user-agent': '' })).not.toHaveProperty('userAgent');
  });
});

describe('a request', () => {
  const own = { origin: 'http://d.example' };
  it.each<[string, Record<string, string>, boolean]>([
    ['GET', { 'sec-fetch-site': 'same-origin' }, false],
    ['GET', { 'sec-fetch-site': 'none' }, false],
    ['GET', { 'sec-fetch-site': 'cross-site' }, true],
    ['GET', { 'sec-fetch-site': 'same-site' }, true],
    ['GET', {}, false],
    ['POST', { ...own, 'sec-fetch-site': 'same-origin' }, false],
    ['POST', { ...own }, false],
    ['POST', { 'sec-fetch-site': 'same-origin' }, false],
    ['POST', { ...own, 'sec-fetch-site': 'cross-site' }, true],
    ['DELETE', { ...own, 'sec-fetch-site': 'same-site' }, true],
    ['POST', { origin: 'http://other.example', 'sec-fetch-site': 'same-origin' }, true],
    ['POST', { 'sec-fetch-site': 'none' }, true],
    ['POST', {}, true],
  ])('%s with %j is cross-site: %s', (method, headers, expected) => {
    const head = { peerAddress: '192.0.2.1', header: (name: string) => headers[name] };
    expect(isCrossSite(method, head, { address: '192.0.2.1', origin: 'http://d.example' })).toBe(expected);
  });
});
