import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RequestView } from '#contract/request-log.ts';
import { followFromMs, LOOK_BACK_MS, leavesGap, mergeRequests, unknownRequests } from './merge-requests.ts';

const row = (id: string): RequestView => ({
  id,
  atMs: 0,
  keyId: 'key-1',
  keyName: 'Backend',
  status: 200,
  durationMs: 1,
  streamed: false,
  route: 'chat',
  address: '192.0.2.1',
});
const rows = (...ids: string[]) => ids.map(row);
const ids = (list: readonly RequestView[]) => list.map(({ id }) => id);

describe('following the log', () => {
  it('inserts a long request at its arrival, below newer ones that were there before', () => {
    expect(ids(mergeRequests(rows('f', 'b'), rows('e', 'd', 'a')))).toEqual(['f', 'e', 'd', 'b', 'a']);
  });

  it('shows each request once, newest first, however responses overlap', () => {
    const some = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 4 }));
    fc.assert(
      fc.property(some, some, (newer, older) => {
        const merged = ids(mergeRequests(rows(...newer), rows(...older)));
        expect(merged).toEqual([...new Set([...newer, ...older])].sort().reverse());
      }),
    );
  });

  it('queries from before the last time, or from before the newest request', () => {
    const lookedAtMs = Date.UTC(2026, 10, 21, 12);
    const hour = 3_600_000;
    expect(followFromMs(lookedAtMs, lookedAtMs + 10)).toBe(lookedAtMs - LOOK_BACK_MS);
    expect(followFromMs(lookedAtMs, lookedAtMs - hour)).toBe(lookedAtMs - hour - LOOK_BACK_MS);
    expect(followFromMs(lookedAtMs, lookedAtMs - 20 * hour)).toBe(lookedAtMs - 2 * hour);
    expect(followFromMs(lookedAtMs, undefined)).toBe(lookedAtMs - 2 * hour);
    expect(followFromMs(lookedAtMs, undefined, lookedAtMs - hour)).toBe(lookedAtMs - hour);
  });

  it('finds the new requests of a response', () => {
    const page = { leftOut: 0, requests: rows('e', 'd', 'c') };
    expect(ids(unknownRequests(page, rows('d', 'a')))).toEqual(['e', 'c']);
  });

  it('starts over only if requests may be missing in between', () => {
    const known = rows('d', 'c');
    expect(leavesGap({ leftOut: 0, requests: rows('g', 'f'), next: 'f' }, known)).toBe(true);
    expect(leavesGap({ leftOut: 0, requests: rows('g', 'f') }, known)).toBe(false);
    expect(leavesGap({ leftOut: 0, requests: rows('e', 'd'), next: 'd' }, known)).toBe(false);
    expect(leavesGap({ leftOut: 0, requests: rows('g'), next: 'f', searchedToMs: 1 }, known)).toBe(false);
    expect(leavesGap({ leftOut: 0, requests: rows('g', 'f'), next: 'f' }, [])).toBe(true);
  });
});
