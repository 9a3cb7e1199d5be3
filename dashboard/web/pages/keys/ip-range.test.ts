import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCidr } from '../../../../core/config/network-names.ts';
import { inRanges } from '../../../../ext-proc/access/ip-ranges.ts';
import { isIpRange } from './ip-range.ts';

/** What dashboard/server/routes/input-fields.ts asks of a range. */
function serverTakes(text: string): boolean {
  return parseCidr(text) !== undefined && inRanges(text.split('/', 1)[0] ?? '', [text]);
}

const bits = fc.option(
  fc.oneof(fc.integer({ min: 0, max: 140 }).map(String), fc.constantFrom('', '08', '-1', '1e1', '999')),
  { nil: undefined },
);
const withBits = (address: fc.Arbitrary<string>) =>
  fc.tuple(address, bits).map(([text, length]) => (length === undefined ? text : `${text}/${length}`));
const mapped = fc.ipV4().map((address) => `::ffff:${address}`);
const nearly = fc.array(
  fc.constantFrom('1', '0', '255', '256', '01', 'ff', 'ffff', '12345', 'g', '.', ':', '::', '/', '%1'),
  { maxLength: 17 },
);

describe('isIpRange', () => {
  it('agrees with the server on everything that looks like an address', () => {
    const texts = fc.oneof(
      withBits(fc.ipV4()),
      withBits(fc.ipV6()),
      withBits(mapped),
      nearly.map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(texts, (text) => {
        expect(isIpRange(text)).toBe(serverTakes(text));
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    '10.0.0.0/8',
    '192.0.2.1',
    'fd00::/8',
    '::1',
    '::',
    '::ffff:10.0.0.0/104',
    '1:2:3:4:5:6:7::',
    '1:2:3:4:5:6:1.2.3.4',
  ])('takes %s', (text) => {
    expect(isIpRange(text)).toBe(true);
    expect(serverTakes(text)).toBe(true);
  });

  it.each([
    '',
    '10.0.0',
    '10.0.0.0/33',
    '10.0.0.256',
    '010.0.0.1',
    'fd00::/129',
    ':::',
    '1::2::3',
    '::ffff:0:0/20',
    'fe80::1%eth0',
    'example.com',
  ])('refuses %s', (text) => {
    expect(isIpRange(text)).toBe(false);
    expect(serverTakes(text)).toBe(false);
  });
});
