import { expect, test } from 'vitest';
import { MINUTE_MS } from '#core/clock.ts';
import { type RefusedCaller, RefusedQuota } from './refused-quota.ts';

const START = 30_000_000 * MINUTE_MS;

function linesOf({ workerIndex = 0, workers = 1 } = {}) {
  const told: object[] = [];
  const lines = new RefusedQuota({ info: (fields: object) => void told.push(fields) }, { workerIndex, workers });
  const take = (
    count: number,
    id: string | undefined,
    { isUnusable = false, nowMs = START, organizationId = 'org-1' } = {},
  ): number => {
    const key: RefusedCaller['key'] = id === undefined ? undefined : { id, organizationId };
    return Array.from({ length: count }, () => lines.take({ key, isUnusable }, nowMs)).filter(Boolean).length;
  };
  return { lines, take, told };
}

test('a key has a hundred rows in a minute, an unusable key ten, and all requests without a key together a hundred', () => {
  const { take } = linesOf();
  expect(take(250, 'key-1')).toBe(100);
  expect(take(250, 'key-2')).toBe(100);
  expect(take(250, 'key-3', { isUnusable: true })).toBe(10);
  expect(take(250, undefined)).toBe(100);
  expect(take(250, 'key-1', { nowMs: START + MINUTE_MS - 1 })).toBe(0);
  expect(take(250, 'key-1', { nowMs: START + MINUTE_MS })).toBe(100);
});

test('all keys of an organization have three hundred rows in a minute together, the unusable ones thirty', () => {
  const { take } = linesOf();
  const ofKeys = (keys: number, count: number, more = {}): number =>
    Array.from({ length: keys }, (_, key) => take(count, `${JSON.stringify(more)} ${key}`, more)).reduce(
      (a, b) => a + b,
    );
  expect(ofKeys(50, 3)).toBe(150);
  expect(ofKeys(50, 1_000)).toBe(150);
  expect(ofKeys(50, 1_000, { nowMs: START + MINUTE_MS })).toBe(300);
  expect(ofKeys(50, 1_000, { organizationId: 'org-2', nowMs: START + MINUTE_MS })).toBe(300);
  const unusable = { organizationId: 'org-3', nowMs: START + MINUTE_MS, isUnusable: true };
  expect(ofKeys(50, 1_000, unusable)).toBe(30);
  expect(ofKeys(50, 1_000, { ...unusable, isUnusable: false })).toBe(300);
});

test('requests beyond the limit of their organization are one line, and their keys take no place from others', () => {
  const { lines, take, told } = linesOf();
  for (let key = 0; key < 20_000; key++) take(1, `key-${key}`);
  expect(take(1, 'key-other', { organizationId: 'org-2' })).toBe(1);
  lines.report(START + MINUTE_MS);
  expect(told).toEqual([
    { organization: 'org-1', key: undefined, lines: 19_700, minute: new Date(START).toISOString() },
  ]);
});

test('a key that becomes unusable gets no further rows', () => {
  const { take } = linesOf();
  expect(take(50, 'key-1')).toBe(50);
  expect(take(50, 'key-1', { isUnusable: true })).toBe(0);
});

test('how many were left out is one line a key, once the minute is over', () => {
  const { lines, take, told } = linesOf();
  take(100, 'key-1');
  take(150, 'key-2');
  take(15, 'key-3', { isUnusable: true });
  take(101, undefined);
  lines.report(START + MINUTE_MS - 1);
  expect(told).toEqual([]);
  lines.report(START + MINUTE_MS);
  const minute = new Date(START).toISOString();
  expect(told).toEqual([
    { organization: 'org-1', key: 'key-2', lines: 50, minute },
    { organization: 'org-1', key: 'key-3', lines: 5, minute },
    { organization: undefined, key: undefined, lines: 1, minute },
  ]);
  lines.report(START + 2 * MINUTE_MS);
  expect(told).toHaveLength(3);
});

test.each([
  [1, false],
  [3, false],
  [64, false],
  [4, true],
  [64, true],
])('%i processes have it together, of a key that is of no use: %s', (workers, isUnusable) => {
  const each = Array.from({ length: workers }, (_, workerIndex) =>
    linesOf({ workerIndex, workers }).take(200, 'key-1', { isUnusable }),
  );
  expect(each.reduce((sum, lines) => sum + lines, 0)).toBe(isUnusable ? 10 : 100);
});

test('a bounded number of keys is tracked, and further ones have no line', () => {
  const { take } = linesOf();
  for (let i = 0; i < 10_000; i++) expect(take(1, `key-${i}`, { organizationId: `org-${i}` })).toBe(1);
  expect(take(1, 'key-late')).toBe(0);
  expect(take(1, 'key-0', { organizationId: 'org-0' })).toBe(1);
});
