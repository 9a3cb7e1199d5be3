import fc from 'fast-check';
import { expect, it } from 'vitest';
import { leastCpuMsOf } from '#test/fixtures/cpu-time.ts';
import { csvLine } from './csv.ts';

/** Cells of one line, as a reader of RFC 4180 sees them. */
function cellsOf(line: string): string[] {
  const cells = [...`,${line.slice(0, -'\r\n'.length)}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^",\r\n]*))/g)];
  return cells.map(([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain);
}

const withoutApostrophes = (cell: string) => cell.replaceAll("'", '');

it('is read back as it was written, except for apostrophes before possible formulas', () => {
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom('"', ',', ';', '\r', '\n', '=', '-', '1', '.', '@', ' ', '\t') }),
  );
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 5 }), (cells) => {
      const read = cellsOf(csvLine(cells));
      expect(read).toHaveLength(cells.length);
      expect(read.map(withoutApostrophes)).toEqual(cells.map(withoutApostrophes));
      // A spreadsheet evaluates formulas in any part between separators; a plain number is no
      // formula.
      for (const cell of read.filter((text) => !/^-?\d+(\.\d+)?$/.test(text))) {
        for (const part of cell.split(/[;\t\r\n]/)) expect(part.replace(/^"+/, '')).not.toMatch(/^[=+\-@]/);
        expect(cell).not.toMatch(/^[\t\r\n]/);
      }
    }),
    { numRuns: 500 },
  );
});

it.each([
  ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
  ['-1+1', "'-1+1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['＝1', "'＝1"],
  ['a;=1+1;b', "a;'=1+1;b"],
  ['a;"=1"', `"a;""'=1"""`],
  ['bot (compatible; +http://x)', 'bot (compatible; +http://x)'],
  ['-0.000000001', '-0.000000001'],
  ['plain', 'plain'],
  ['a,b', '"a,b"'],
])('%s is written as %s', (cell, written) => {
  expect(csvLine([cell])).toBe(`${written}\r\n`);
});

it('leaves out what is absent, and writes numbers and flags as they are', () => {
  expect(csvLine([undefined, -5, 0, true, ''])).toBe(',-5,0,true,\r\n');
});

it('puts apostrophes where an expression with look-behind finds formulas', () => {
  const lookingBack = /^(?=[\t\r\n])|(?<=(?:^|[;\t\r\n])"*)(?=[=+\-@＝＋－＠])/g;
  const unit = fc.constantFrom('"', ';', '\r', '\n', '\t', '=', '+', '-', '@', '＝', '＠', 'a', "'", '𝄞');
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 30 }), (text) => {
      // A letter keeps it from being a plain number.
      const [cell] = cellsOf(csvLine([`${text}x`]));
      expect(cell).toBe(`${text}x`.replace(lookingBack, "'"));
    }),
    { numRuns: 2_000 },
  );
});

it.each(['"', ';', '"=', ';"', '\t', '='])('writes 64 KiB of %j in under 2 ms', (unit) => {
  const text = unit.repeat((64 * 1024) / unit.length);
  expect(leastCpuMsOf(() => csvLine([text]), 2)).toBeLessThan(2);
});
