import { expect, it } from 'vitest';
import { collectGarbage } from '#test/fixtures/collect-garbage.ts';
import { csvLines } from './csv-lines.ts';

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
  const text = await allOf(csvLines(COLUMNS, read, { mostRows: 1_500 }));
  expect(text.split('\r\n')).toHaveLength(1 + 1_500 + 1);
  expect(reads).toEqual([
    [0, 1_000],
    [1_000, 500],
  ]);
});

it('goes on after a step without rows', async () => {
  const read = async (cursor = 0) => ({
    rows: cursor === 3 ? [{ n: 7 }] : [],
    ...(cursor < 3 ? { next: cursor + 1 } : {}),
  });
  expect(await allOf(csvLines(COLUMNS, read))).toBe('n\r\n7\r\n');
});

it('reads a step only when the previous one was consumed, and none after its reader has left', async () => {
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

it('lets other work have its turn after 64 KiB of text, however long the rows are', async () => {
  const columns = [['text', ({ text }: { text: string }) => text]] as const;
  const rows = Array.from({ length: 1_000 }, () => ({ text: '"'.repeat(1_000) }));
  const others: number[] = [];
  for await (const piece of csvLines(columns, async () => ({ rows }))) {
    expect(piece.length).toBeLessThan(64 * 1024 + 2_100);
    setImmediate(() => others.push(piece.length));
  }
  // 2 MB in all; what was begun beside a piece has run before the next one.
  expect(others.length).toBeGreaterThanOrEqual(30);
});

it('keeps no rows in memory while a piece of their text waits to be taken', async () => {
  let newest: WeakRef<object> | undefined;
  const read = async () => {
    const rows = Array.from({ length: 1_000 }, () => ({ text: 'x'.repeat(1_000) }));
    newest = new WeakRef(rows[999] ?? rows);
    return { rows, next: 1 };
  };
  const lines = csvLines([['text', ({ text }: { text: string }) => text]], read);
  await lines.next();
  expect((await lines.next()).value).toContain('x');
  // What a weak reference was made or read for stays until the end of the turn.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(newest?.deref()).toBeUndefined();
  await lines.return(undefined);
});

it('reads as many rows at once as configured', async () => {
  const { reads, read } = table(250);
  const text = await allOf(csvLines(COLUMNS, read, { stepRows: 100 }));
  expect(text.split('\r\n')).toHaveLength(1 + 250 + 1);
  expect(reads.map(([, limit]) => limit)).toEqual([100, 100, 100]);
});
