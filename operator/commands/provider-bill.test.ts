import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BILL_HEADER, parseProviderBill, readProviderBill } from './provider-bill.ts';

const DAY = Date.parse('2026-11-21') / 86_400_000;
const of = (...rows: string[]) => parseProviderBill([BILL_HEADER, ...rows].join('\n'));
const problemsOf = (...rows: string[]) => {
  const bill = of(...rows);
  return bill.ok ? [] : bill.problems;
};

describe("a provider's bill", () => {
  it('is read in the CSV of spreadsheets', () => {
    const row = { day: DAY, model: 'gpt-5-mini', input_tokens: 100, cached_tokens: 20, output_tokens: 7 };
    const text = `\ufeff${BILL_HEADER}\r\n2026-11-21,gpt-5-mini,100,20,7,0.5\r\n"2026-11-21","a""b,c","0","0","0",""\r\n`;
    expect(parseProviderBill(text)).toEqual({
      ok: true,
      usage: [row, { ...row, model: 'a"b,c', input_tokens: 0, cached_tokens: 0, output_tokens: 0 }],
    });
  });

  it.each([
    ['2026-02-30,m,1,0,1,0', 'date'],
    ['21.11.2026,m,1,0,1,0', 'date'],
    ['2026-11-21T00:00:00Z,m,1,0,1,0', 'date'],
    ['2026-11-21,,1,0,1,0', 'model'],
    ['2026-11-21,m m,1,0,1,0', 'model'],
    ['2026-11-21,m,-1,0,1,0', 'input_tokens'],
    ['2026-11-21,m,1.5,0,1,0', 'input_tokens'],
    ['2026-11-21,m,1e3,0,1,0', 'input_tokens'],
    ['2026-11-21,m,1,,1,0', 'cached_tokens'],
    ['2026-11-21,m,1,2,1,0', 'cached_tokens'],
    ['2026-11-21,m,1,0,99999999999999,0', 'output_tokens'],
    ['2026-11-21,m,1,0,1,$5', 'cost'],
    ['2026-11-21,m,1,0,1', 'fields'],
    ['2026-11-21,m,1,0,1,0,', 'fields'],
    ['"2026-11-21,m,1,0,1,0', 'quote'],
    ['2026-11-21,m"x",1,0,1,0', 'quote'],
    ['', 'fields'],
  ])('is refused with its line for %s', (row, problem) => {
    const [first = '', ...others] = problemsOf('2026-11-21,m,1,0,1,0', row, '2026-11-21,m,1,0,1,0');
    expect(first).toMatch(/^line 3: /);
    expect(first).toContain(problem);
    expect(others).toEqual([]);
  });

  it('is refused without its header, or without lines below it', () => {
    expect(parseProviderBill('')).toMatchObject({ ok: false, problems: [expect.stringContaining(BILL_HEADER)] });
    expect(parseProviderBill('day,model\n1,2')).toMatchObject({ problems: [expect.stringContaining('line 1')] });
    expect(problemsOf()).toEqual(['There is nothing below the header.']);
  });

  it('reports at most twenty problems, and bounds the database query', () => {
    expect(problemsOf(...Array<string>(1000).fill('x'))).toHaveLength(20);
    const row = (date: string, model = 'm', tokens = '1') => `${date},${model},${tokens},0,0,`;
    expect(problemsOf(row('2025-01-01'), row('2026-11-21'))).toEqual([expect.stringContaining('690 days')]);
    const models = Array.from({ length: 1001 }, (_, index) => row('2026-11-21', `m${index}`));
    expect(problemsOf(...models)).toEqual([expect.stringContaining('1001 models')]);
    expect(problemsOf(...Array<string>(1000).fill(row('2026-11-21', 'm', '9'.repeat(13))))).toHaveLength(1);
    const long = parseProviderBill(`${BILL_HEADER}${'\nx'.repeat(200_001)}`);
    expect(long).toMatchObject({ problems: [expect.stringContaining('200001 lines')] });
  });

  it('takes bounded time and never throws, whatever the file contains', () => {
    const piece = fc.constantFrom('"', ',', '\n', '\r', '1', 'm', '2026-11-21', BILL_HEADER, ' ', '\0', 'é');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 200 }), (pieces) => {
        const bill = parseProviderBill(`${BILL_HEADER}\n${pieces.join('')}`);
        if (!bill.ok) expect(bill.problems.length).toBeGreaterThan(0);
      }),
    );
    expect(problemsOf(`${'"'.repeat(1_000_001)}`)).toEqual([expect.stringContaining('line 2')]);
  });

  it('is a local file in UTF-8 of bounded size', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gw-bill-'));
    const path = join(folder, 'bill.csv');
    await writeFile(path, `${BILL_HEADER}\n2026-11-21,m,1,0,1,0`);
    expect(await readProviderBill(path)).toMatchObject({ ok: true });
    await writeFile(path, Buffer.from([0xff, 0xfe, 0x00]));
    expect(await readProviderBill(path)).toMatchObject({ problems: [expect.stringContaining('UTF-8')] });
    await writeFile(path, Buffer.alloc(17 * 1024 * 1024));
    expect(await readProviderBill(path)).toMatchObject({ problems: [expect.stringContaining('bytes')] });
    expect(await readProviderBill(join(folder, 'none'))).toMatchObject({
      problems: [expect.stringContaining('there is no such file')],
    });
    for (const no of [folder, '/dev/zero'])
      expect(await readProviderBill(no)).toMatchObject({ problems: [expect.stringContaining('not a regular file')] });
    await rm(folder, { recursive: true });
  });
});
