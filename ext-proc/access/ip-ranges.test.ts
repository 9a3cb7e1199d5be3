import { BlockList, isIPv4 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inRanges, normalizeAddress } from './ip-ranges.ts';

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
    ['10.1.2.3', '::/0', false],
    ['::1', '0.0.0.0/0', false],
  ])('%s in %s: %s', (address, range, expected) => expect(inRanges(address, [range])).toBe(expected));

  it.each([
    '',
    'nonsense',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0.0/ 8',
    '10.0.0.0/',
    '::/129',
    '::ffff:0.0.0.0/95',
    '010.0.0.1',
  ])('the range %j contains nothing', (range) => {
    for (const address of ['10.0.0.1', '0.0.0.0', '::', '::1', '']) expect(inRanges(address, [range])).toBe(false);
  });

  it('agrees with the list that Node has, on addresses and prefixes of both families', () => {
    const family = (address: string) => (isIPv4(address) ? 'ipv4' : 'ipv6');
    fc.assert(
      fc.property(
        fc.oneof(fc.tuple(fc.ipV4(), fc.ipV4(), fc.nat(32)), fc.tuple(fc.ipV6(), fc.ipV6(), fc.nat(128))),
        fc.boolean(),
        ([base, other, prefix], same) => {
          const address = same ? base : other;
          const list = new BlockList();
          list.addSubnet(base, prefix, family(base));
          expect(inRanges(address, [`${base}/${prefix}`])).toBe(list.check(address, family(address)));
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('survives any text', () => {
    const pieces = fc
      .array(fc.constantFrom('1', '255', '.', ':', '::', 'f', '/', '%', '8', 'x', ' '), { maxLength: 12 })
      .map((p) => p.join(''));
    fc.assert(
      fc.property(pieces, pieces, (address, range) => typeof inRanges(address, [range]) === 'boolean'),
      { numRuns: 2000 },
    );
  });
});

describe('normalizeAddress', () => {
  it.each([
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:201', '192.0.2.1'],
    ['2001:0DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['255.255.255.255', '255.255.255.255'],
    ['::', '::'],
    ['', undefined],
    ['1.2.3', undefined],
    ['[::1]', undefined],
  ])('%s is %s', (text, expected) => expect(normalizeAddress(text)).toBe(expected));
});
