import { afterEach, describe, expect, it, vi } from 'vitest';
import { missingDetails } from './missing-details.ts';

const entry = (index: number) => ({ type: 'reasoning.summary', summary: 'я'.repeat(900), index });
const KEPT = [entry(0), entry(1), entry(2)];

afterEach(() => void vi.restoreAllMocks());

function compared(sent: string) {
  const [kept, given] = [Buffer.from(JSON.stringify(KEPT)), Buffer.from(sent)];
  const [read, written] = [vi.spyOn(JSON, 'parse'), vi.spyOn(JSON, 'stringify')];
  const missing = missingDetails(kept, given);
  return { missing, read: read.mock.calls.length, written: written.mock.calls.length };
}

describe('the kept details that a client left out', () => {
  it('are found, also if it escapes all characters that it can', () => {
    const { missing } = compared(JSON.stringify([entry(1), entry(2)]).replaceAll('я', '\\u044f'));
    expect(JSON.parse(String(missing))).toEqual([entry(0)]);
  });

  it.each([
    ['as many entries as were kept', [entry(1), {}, {}], { read: 2, written: 0 }],
    ['far more entries', Array(2_000).fill(0), { read: 2, written: 0 }],
    ['far more bytes', [{ ...entry(2), summary: 'x'.repeat(30_000) }], { read: 0, written: 0 }],
    [
      'an entry with more members',
      [
        Object.fromEntries(
          Array(9)
            .fill(0)
            .map((_, at) => [at, at]),
        ),
      ],
      { read: 2, written: 0 },
    ],
  ])('are not compared with %s', (_, sent, work) => {
    expect(compared(JSON.stringify(sent))).toEqual({ missing: undefined, ...work });
  });
});
