import fc from 'fast-check';
import { expect, it } from 'vitest';
import { csvLine, csvLines } from './csv-lines.ts';

const COLUMNS = [['n', ({ n }: { n: number }) => n]] as const;

async function allOf(lines: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const piece of lines) text += piece;
  return text;
}

/** A table with so many rows that records the reads. */
function table(rows: number) {
  const reads: [from: number, limit: number][] = [];
  const read = async (cursor: number | undefined, limit: number) => {
    const from = cursor ?? 0;
    reads.push([from, limit]);
    const end = Math.min(from + limit, rows);
    const step = Array.from({ length: end - from }, (_, i) => ({ n: from + i }));
    return { rows: step, ...(end < rows ? { next: end } : {}) };
  };
  return { reads, read };
}

it('writes the names of the columns and then every row, step by step', async () => {
  const { reads, read } = table(2_500);
  const lines = (await allOf(csvLines(COLUMNS, read))).split('\r\n');
  expect(lines.slice(0, 3)).toEqual(['n', '0', '1']);
  expect(lines.slice(-2)).toEqual(['2499', '']);
  expect(reads.map(([from]) => from)).toEqual([0, 1_000, 2_000]);
});

it('writes no more rows than a file may have', async () => {
  const { reads, read } = table(5_000);
  const text = await allOf(csvLines(COLUMNS, read, 1_500));
  expect(text.split('\r\n')).toHaveLength(1 + 1_500 + 1);
  expect(reads).toEqual([
    [0, 1_000],
    [1_000, 500],
  ]);
});

it('goes on where a step finds nothing', async () => {
  const read = async (cursor = 0) => ({
    rows: cursor === 3 ? [{ n: 7 }] : [],
    ...(cursor < 3 ? { next: cursor + 1 } : {}),
  });
  expect(await allOf(csvLines(COLUMNS, read))).toBe('n\r\n7\r\n');
});

it('reads no step before the one before has been taken, and none after its reader has left', async () => {
  const { reads, read } = table(5_000);
  const lines = csvLines(COLUMNS, read);
  await lines.next();
  expect(reads).toHaveLength(0);
  await lines.next();
  expect(reads).toHaveLength(1);
  await lines.return(undefined);
  expect((await lines.next()).done).toBe(true);
  expect(reads).toHaveLength(1);
});

/** Cells of one line, as a reader of RFC 4180 sees them. */
function cellsOf(line: string): string[] {
  const cells = [...`,${line.slice(0, -'\r\n'.length)}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^",\r\n]*))/g)];
  return cells.map(([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain);
}

const withoutApostrophes = (cell: string) => cell.replaceAll("'", '');

it('is read again as it was written, but for apostrophes before what could be a formula', () => {
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
