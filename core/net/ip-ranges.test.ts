import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { inRanges, isIpRange, normalizeAddress, normalizeIpRange, parseIpAddress } from './ip-ranges.ts';

const TEXT_PIECES = [
  '1',
  '0',
  '255',
  '256',
  '01',
  '00001',
  'ff',
  'ffff',
  '12345',
  '1.2.3.4',
  '0x1',
  'g',
  '.',
  ':',
  '::',
  '/',
  '%1',
  ' ',
];
const text = fc.array(fc.constantFrom(...TEXT_PIECES), { maxLength: 15 }).map((pieces) => pieces.join(''));
const mapped = fc.ipV4().map((address) => `::ffff:${address}`);
const bits = fc.option(
  fc.constantFrom('', '08', '-1', '1e1', '999', ...Array.from({ length: 130 }, (_, n) => `${n}`)),
  {
    nil: undefined,
  },
);
const range = fc
  .tuple(fc.oneof(fc.ipV4(), fc.ipV6(), mapped, text), bits)
  .map(([address, length]) => (length === undefined ? address : `${address}/${length}`));

describe('inRanges', () => {
  it.each([
    ['10.1.2.3', '10.0.0.0/8', true],
    ['11.0.0.0', '10.0.0.0/8', false],
    ['10.1.2.3', '10.1.2.3', true],
    ['10.1.2.3', '10.1.2.3/32', true],
    ['10.1.2.4', '10.1.2.3/32', false],
    ['192.0.2.77', '192.0.2.99/24', true],
    ['203.0.113.9', '0.0.0.0/0', true],
    ['2001:db8::1', '2001:db8::/32', true],
    ['2001:db9::1', '2001:db8::/32', false],
    ['2001:DB8:0:0::1', '2001:db8::1', true],
    ['fe80::1%eth0', 'fe80::/10', true],
    ['::1', '::/0', true],
    ['::ffff:10.1.2.3', '10.0.0.0/8', true],
    ['10.1.2.3', '::ffff:10.0.0.0/104', true],
    ['11.1.2.3', '::ffff:10.0.0.0/104', false],
    ['10.1.2.3', '0::ffff:a00:0/104', true],
    ['10.1.2.3', '::/0', false],
    ['::1', '0.0.0.0/0', false],
  ])('%s in %s: %s', (address, named, expected) => expect(inRanges(address, [named])).toBe(expected));

  it.each([
    '',
    'nonsense',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0.0/ 8',
    '10.0.0.0/',
    '10.0.0/8',
    '/8',
    '::/129',
    '::ffff:0.0.0.0/95',
    '::ffff:0:0/20',
    '0::ffff:1.2.3.4/64',
    'fe80::1%eth0',
    ':::',
    '1::2::3',
    '010.0.0.1',
    'example.com',
  ])('%j is no range, and contains nothing', (named) => {
    expect(isIpRange(named)).toBe(false);
    for (const address of ['10.0.0.1', '0.0.0.0', '1.2.3.4', '::', '::1', ''])
      expect(inRanges(address, [named])).toBe(false);
  });

  it('agrees with the list that Node has, on addresses and prefixes of both families', () => {
    const family = (address: string) => (isIPv4(address) ? 'ipv4' : 'ipv6');
    const isMapped = (address: string) => family(address) === 'ipv6' && isIPv4(normalizeAddress(address) ?? '');
    fc.assert(
      fc.property(
        fc.oneof(fc.tuple(fc.ipV4(), fc.ipV4(), fc.nat(32)), fc.tuple(fc.ipV6(), fc.ipV6(), fc.nat(128))),
        fc.boolean(),
        ([base, other, prefix], same) => {
          const address = same ? base : other;
          fc.pre(!isMapped(base) && !isMapped(address));
          const list = new BlockList();
          list.addSubnet(base, prefix, family(base));
          expect(inRanges(address, [`${base}/${prefix}`])).toBe(list.check(address, family(address)));
        },
      ),
      { numRuns: propertyRuns(1000) },
    );
  });

  it('has the address that a range names, in each spelling of the range', () => {
    fc.assert(
      fc.property(range, (named) => {
        const canonical = normalizeIpRange(named);
        expect(canonical !== undefined).toBe(isIpRange(named));
        const address = named.split('/', 1)[0] ?? '';
        expect(inRanges(address, [named])).toBe(isIpRange(named));
        if (canonical !== undefined) {
          expect(inRanges(address, [canonical])).toBe(true);
          expect(normalizeIpRange(canonical)).toBe(canonical);
        }
      }),
      { numRuns: propertyRuns(3000) },
    );
  });
});

describe('normalizeAddress', () => {
  it.each([
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:201', '192.0.2.1'],
    ['::ffff:0:0', '0.0.0.0'],
    ['::192.0.2.1', '::c000:201'],
    ['2001:0DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['fe80::1%eth0', 'fe80::1'],
    ['255.255.255.255', '255.255.255.255'],
    ['::', '::'],
    ['', undefined],
    ['1.2.3', undefined],
    ['0x7f.0.0.1', undefined],
    ['::ffff:0177.0.0.1', undefined],
    ['[::1]', undefined],
  ])('%s is %s', (address, expected) => expect(normalizeAddress(address)).toBe(expected));

  it('accepts exactly the addresses that Node accepts, and returns one spelling', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), mapped, text), (address) => {
        const normal = normalizeAddress(address);
        expect(normal !== undefined).toBe(isIP(address) !== 0);
        expect(parseIpAddress(address)?.toString()).toBe(normal);
        if (normal === undefined) return;
        expect(normalizeAddress(normal)).toBe(normal);
        const expanded = new URL(`http://${isIPv6(normal) ? `[${normal}]` : normal}`).hostname;
        expect(expanded.replaceAll(/[[\]]/g, '')).toBe(normal);
      }),
      { numRuns: propertyRuns(3000) },
    );
  });
});
