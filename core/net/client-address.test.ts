import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clientAddress } from './client-address.ts';
import { inRanges } from './ip-ranges.ts';

const TRUSTED = ['10.0.0.0/8', 'fd00::/8'];

describe('clientAddress', () => {
  it.each([
    ['the peer, when no proxy is trusted', '198.51.100.7', '203.0.113.1, 198.51.100.7', [], '198.51.100.7'],
    [
      'the peer, when it is no trusted proxy, whatever it claims',
      '198.51.100.7',
      '10.0.0.1, 198.51.100.7',
      TRUSTED,
      '198.51.100.7',
    ],
    ['the peer without the header', '10.0.0.2', undefined, TRUSTED, '10.0.0.2'],
    [
      'what the proxy saw, with the peer that Envoy appends',
      '10.0.0.2',
      '203.0.113.1, 10.0.0.2',
      TRUSTED,
      '203.0.113.1',
    ],
    ['what the proxy saw, without it', '10.0.0.2', '203.0.113.1', TRUSTED, '203.0.113.1'],
    [
      'the last address that is not trusted; the left ones may be invented',
      '10.0.0.2',
      '127.0.0.1, 203.0.113.1, 10.9.9.9, 10.0.0.2',
      TRUSTED,
      '203.0.113.1',
    ],
    ['the leftmost, when all are trusted', '10.0.0.2', '10.3.3.3, 10.0.0.2', TRUSTED, '10.3.3.3'],
    [
      'the nearest proxy, when an entry is no address',
      '10.0.0.2',
      '203.0.113.1, unknown, 10.3.3.3, 10.0.0.2',
      TRUSTED,
      '10.3.3.3',
    ],
    ['the peer, when the header is empty', '10.0.0.2', '', TRUSTED, '10.0.0.2'],
    ['the address without port', '10.0.0.2', '203.0.113.1:4711, 10.0.0.2', TRUSTED, '203.0.113.1'],
    ['the IPv6 address without port', '10.0.0.2', '[2001:db8::5]:4711, 10.0.0.2', TRUSTED, '2001:db8::5'],
    ['the IPv6 address behind an IPv6 proxy', 'fd00::1', '2001:db8::5,fd00::1', TRUSTED, '2001:db8::5'],
    ['the IPv4 address of a mapped peer', '::ffff:198.51.100.7', undefined, [], '198.51.100.7'],
    ['through a mapped proxy', '::ffff:10.0.0.2', '203.0.113.1, ::ffff:10.0.0.2', TRUSTED, '203.0.113.1'],
    ['nothing, when the peer is unknown', '', '203.0.113.1', TRUSTED, ''],
  ])('is %s', (_, peer, header, trusted, expected) => expect(clientAddress(peer, header, trusted)).toBe(expected));

  it('reads at most 64 entries', () => {
    const header = `203.0.113.1, ${Array(100).fill('10.0.0.1').join(', ')}`;
    expect(clientAddress('10.0.0.2', header, TRUSTED)).toBe('10.0.0.1');
  });

  it('never is an address that an untrusted client invented', () => {
    const invented = fc.array(
      fc.oneof(fc.ipV4(), fc.ipV6(), fc.string(), fc.constantFrom('', ' ', 'unknown', '10.0.0.1', '1.2.3.4:5')),
    );
    const trusted = fc.array(
      fc.nat(255).map((n) => `10.1.1.${n}`),
      { minLength: 1, maxLength: 5 },
    );
    fc.assert(
      fc.property(invented, fc.ipV4(), trusted, (left, client, proxies) => {
        fc.pre(!inRanges(client, TRUSTED));
        // Each proxy appends whom it saw: the first one the client, the next ones the proxy before,
        // Envoy the last one.
        const header = [...left, client, ...proxies].join(', ');
        expect(clientAddress(proxies.at(-1) ?? '', header, TRUSTED)).toBe(client);
        expect(clientAddress(client, [...left, client].join(','), TRUSTED)).toBe(client);
      }),
    );
  });

  it('is an address or nothing for any header', () => {
    fc.assert(
      fc.property(fc.string(), (header) => {
        expect(isIP(clientAddress('10.0.0.2', header, TRUSTED))).toBeGreaterThan(0);
        expect(clientAddress(`x${header}`, header, TRUSTED)).toBe('');
      }),
    );
  });
});
