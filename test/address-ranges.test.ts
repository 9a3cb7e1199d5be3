import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ipRanges } from '#contract/fields.ts';
import { CONFIG_FILE } from '#core/config/schema.ts';
import { inRanges } from '#core/net/ip-ranges.ts';
import { createValueReader } from '#operator/command-line/flag-values.ts';
import { propertyRuns } from './fixtures/property-runs.ts';

/** The ranges that `key create --ips` stores. Empty if it refuses the text. */
function fromFlags(text: string): readonly string[] {
  return createValueReader(new Map([['ips', text]])).ipRanges('ips') ?? [];
}

/** The effective `trusted_proxies` of the configuration. Empty if the file is refused. */
function fromConfiguration(text: string): readonly string[] {
  const file = CONFIG_FILE.safeParse({ trusted_proxies: [text] });
  return file.success ? file.data.trusted_proxies : [];
}

/** The ranges that the dashboard's server stores for a key. Empty if it refuses the text. */
function fromDashboard(text: string): readonly string[] {
  const field = ipRanges.safeParse([text]);
  return field.success ? field.data : [];
}

const READERS = [fromFlags, fromConfiguration, fromDashboard];

const bits = fc.option(
  fc.oneof(fc.integer({ min: 0, max: 140 }).map(String), fc.constantFrom('', '08', '-1', '1e1', '999')),
  { nil: undefined },
);
const pieces = fc.constantFrom('1', '0', '255', '256', '01', 'ff', 'ffff', '12345', 'g', '.', ':', '::', '/', '%1');
const address = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.ipV4().map((ipv4) => `::ffff:${ipv4}`),
  fc.ipV4().map((ipv4) => `0::ffff:${ipv4}`),
  fc.array(pieces, { minLength: 1, maxLength: 17 }).map((parts) => parts.join('')),
);
const range = fc.tuple(address, bits).map(([named, length]) => (length === undefined ? named : `${named}/${length}`));

describe('an address range', () => {
  it.each(['0::ffff:1.2.3.4/64', '::ffff:0:0/20', '::ffff:0.0.0.0/95', 'fe80::1%eth0', '010.0.0.1'])(
    '%s is refused everywhere, since no request could come from it',
    (text) => {
      for (const read of READERS) expect(read(text)).toEqual([]);
    },
  );

  it('is accepted by all readers or by none, and contains the address that it names', () => {
    fc.assert(
      fc.property(range, (text) => {
        const accepted = READERS.map((read) => read(text));
        expect(new Set(accepted.map(({ length }) => length)).size).toBe(1);
        const named = text.split('/', 1)[0] ?? '';
        for (const ranges of accepted) expect(inRanges(named, ranges)).toBe(ranges.length > 0);
      }),
      { numRuns: propertyRuns(2000) },
    );
  });
});
