import { describe, expect, it } from 'vitest';
import { parseArguments } from './arguments.ts';
import { createValueReader, parseCredit } from './flag-values.ts';

describe('arguments', () => {
  const SPECS = [{ name: 'rpm', value: 'N' }, { name: 'name', value: 'NAME', required: true }, { name: 'allow-n' }];
  const parse = (...args: string[]) => {
    const { positionals, flags, problems } = parseArguments(args, SPECS);
    return { positionals, flags: Object.fromEntries(flags), problems };
  };

  it('accept values after a space or an equals sign, negative numbers, and switches alone or with none', () => {
    expect(parse('id', '--name', 'a b', '--rpm=5', '-3.5', '--allow-n')).toEqual({
      positionals: ['id', '-3.5'],
      flags: { name: 'a b', rpm: '5', 'allow-n': 'on' },
      problems: [],
    });
    expect(parse('--name=a=b', '--allow-n', 'none', 'rest')).toEqual({
      positionals: ['rest'],
      flags: { name: 'a=b', 'allow-n': 'none' },
      problems: [],
    });
  });

  it.each([
    [['--name', 'x', '--nme', 'y'], 'Unknown flag --nme.'],
    [['--name', 'x', '-r'], 'Unknown flag -r.'],
    [['--name', 'x', '--name', 'y'], '--name is given twice.'],
    [['--rpm', '5'], '--name NAME is required.'],
    [['--name'], '--name needs a value: --name NAME.'],
    [['--name', '--rpm', '5'], '--name needs a value: --name NAME.'],
  ])('%j: %s', (args, problem) => {
    expect(parse(...args).problems).toEqual([problem]);
  });
});

describe('flag values', () => {
  function read<T>(value: string, of: (reader: ReturnType<typeof createValueReader>) => T): T | string {
    const reader = createValueReader(new Map([['f', value]]));
    const result = of(reader);
    return reader.problems[0] ?? result;
  }
  const REFUSED = expect.stringMatching(/^--f takes /);

  it.each(['0', '-1', '1.5', '1e3', '', ' 5', '11', 'x', '9'.repeat(30)])('count refuses %j', (text) => {
    expect(read(text, (reader) => reader.count('f', 10))).toEqual(REFUSED);
  });
  it('count accepts its bounds, and none', () => {
    expect(read('1', (reader) => reader.count('f', 10))).toBe(1);
    expect(read('10', (reader) => reader.count('f', 10))).toBe(10);
    expect(read('none', (reader) => reader.count('f', 10))).toBeNull();
    expect(createValueReader(new Map()).count('f', 10)).toBeUndefined();
  });

  it('amounts are exact, and only credits may be negative', () => {
    expect(read('0.000000001', (reader) => reader.budget('f'))).toBe(1n);
    expect(read('1000000000', (reader) => reader.credit('f'))).toBe(10n ** 18n);
    for (const text of ['1000000000.000000001', '0.0000000001', '-1', '1,5', '$5', '1e3', 'NaN']) {
      expect(read(text, (reader) => reader.credit('f'))).toEqual(REFUSED);
    }
    expect(read('none', (reader) => reader.credit('f'))).toEqual(REFUSED);
    expect(parseCredit('-0.5')).toBe(-500_000_000n);
    for (const text of ['0', '-0', '', 'five']) expect(parseCredit(text)).toEqual(expect.stringContaining('USD takes'));
  });

  it.each(['', ' ', 'a\tb', '\u202egnp.exe', '\u200b', 'inv\u200b-17', 'x'.repeat(201), '\ud800'])(
    'a name is not %j: nobody could see it as it is',
    (text) => {
      expect(read(text, (reader) => reader.name('f'))).toEqual(REFUSED);
    },
  );
  it('a name may be in any script', () => {
    expect(read(' Zoë 👩‍👩‍👧 می‌خواهم ', (reader) => reader.name('f'))).toBe('Zoë 👩‍👩‍👧 می‌خواهم');
  });

  it.each([
    ['chat', ['chat']],
    ['chat,usage:read', ['chat', 'usage:read']],
    ['usage:read, chat,chat', ['usage:read', 'chat']],
    ['', REFUSED],
    ['chat,', REFUSED],
    ['admin', REFUSED],
  ])('scopes %j', (text, expected) => {
    expect(read(text, (reader) => reader.scopes('f'))).toEqual(expected);
  });

  it.each(['10.0.0.0/8', '10.1.2.3', '::1', '2001:db8::/32', '0.0.0.0/0', '::ffff:10.0.0.0/104'])(
    'address range %s',
    (text) => {
      expect(read(text, (reader) => reader.ipRanges('f'))).toEqual([text]);
    },
  );
  it.each([
    '10.0.0.0/33',
    '10.0.0/8',
    '::1/129',
    '10.0.0.0/8/8',
    '10.0.0.0/',
    'host',
    'fe80::1%eth0',
    '::ffff:0.0.0.0/10',
    '1.2.3.4,',
  ])('no address range %s', (text) => {
    expect(read(text, (reader) => reader.ipRanges('f'))).toEqual(REFUSED);
  });

  it.each([
    ['2027-01-31', Date.UTC(2027, 0, 31)],
    ['2027-01-31T18:00Z', Date.UTC(2027, 0, 31, 18)],
    ['2028-02-29T18:00:01.5+01:00', Date.UTC(2028, 1, 29, 17, 0, 1, 500)],
    ['2027-02-29', REFUSED],
    ['2027-01-31T18:00:00', REFUSED],
    ['2027-13-01', REFUSED],
    ['2027-01-31T25:00:00Z', REFUSED],
    ['31.1.2027', REFUSED],
    ['tomorrow', REFUSED],
  ])('moment %s', (text, expected) => {
    expect(read(text, (reader) => reader.moment('f'))).toEqual(expected);
  });

  it('names and models are bounded, and have no special characters', () => {
    expect(read('  Acme GmbH ', (reader) => reader.name('f'))).toBe('Acme GmbH');
    for (const text of ['', '   ', 'a\nb', 'a\u001b[31m', 'x'.repeat(201)]) {
      expect(read(text, (reader) => reader.name('f'))).toEqual(REFUSED);
    }
    expect(read('a,b/c:1, d', (reader) => reader.models('f'))).toEqual(['a', 'b/c:1', 'd']);
    for (const text of ['', 'a,,b', 'a b', 'ä', Array.from({ length: 201 }, (_, i) => `m${i}`).join()]) {
      expect(read(text, (reader) => reader.models('f'))).toEqual(REFUSED);
    }
  });

  it('reports every wrong value, not only the first', () => {
    const reader = createValueReader(
      new Map([
        ['a', 'x'],
        ['b', 'y'],
      ]),
    );
    reader.count('a', 5);
    reader.budget('b');
    expect(reader.problems).toHaveLength(2);
  });
});
