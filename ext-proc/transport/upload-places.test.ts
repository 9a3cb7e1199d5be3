import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BodyBounds } from './exchange.ts';
import { type Upload, UploadPlaces } from './upload-places.ts';

const PLACES = 40;
const QUARTER = PLACES / 4;
const bounds = (organizationId: string, mostUploads = Number.POSITIVE_INFINITY): BodyBounds => ({
  ...{ organizationId, mostUploads },
  ...{ limitBytes: 1, stallMs: 1, totalMs: 1 },
});

/** A process whose exchanges are uploads, and some that wait for something else. */
function processWith(others = 0, most = PLACES) {
  const open = new Map<Upload, string>();
  const evicted: string[] = [];
  const places = new UploadPlaces(most, () => others + open.size);
  return {
    places,
    open,
    evicted,
    /** A request arrives, and wants to upload. */
    arrive(organization: string, mostUploads?: number): 'upload' | 'refused' | 'full' {
      if (others + open.size >= most && !places.makeRoom()) return 'full';
      const upload: Upload = {
        giveWay() {
          evicted.push(organization);
          this.end();
        },
        end() {
          places.leave(upload, organization);
          open.delete(upload);
        },
      } as Upload & { end(): void };
      open.set(upload, organization);
      if (places.enter(upload, bounds(organization, mostUploads))) return 'upload';
      open.delete(upload);
      return 'refused';
    },
  };
}

const count = (outcomes: readonly string[], outcome: string) => outcomes.filter((one) => one === outcome).length;

describe('places of uploads', () => {
  test('one organization has as many as it may, alone up to half of all', () => {
    const alone = processWith();
    const outcomes = Array.from({ length: 2 * PLACES }, () => alone.arrive('a'));
    expect([count(outcomes, 'upload'), count(outcomes, 'refused')]).toEqual([PLACES / 2, 1.5 * PLACES]);
    const bounded = processWith();
    expect(Array.from({ length: 4 }, () => bounded.arrive('a', 3))).toEqual(['upload', 'upload', 'upload', 'refused']);
  });

  test('while half are taken it has a quarter', () => {
    const busy = processWith(PLACES / 2);
    const outcomes = Array.from({ length: PLACES }, () => busy.arrive('a'));
    expect(count(outcomes, 'upload')).toBe(QUARTER);
  });

  test('when none is left, the organization with most loses the upload without progress for longest', () => {
    const { places, arrive, open, evicted } = processWith();
    for (const [organization, uploads] of [
      ['a', 20],
      ['b', 10],
      ['c', 10],
    ] as const)
      for (let upload = 0; upload < uploads; upload++) expect(arrive(organization)).toBe('upload');
    const [first, second] = open.keys();
    if (first) places.progressed(first, 'a');
    expect(arrive('d')).toBe('upload');
    expect(evicted).toEqual(['a']);
    expect(open.has(first as Upload)).toBe(true);
    expect(open.has(second as Upload)).toBe(false);
  });

  test('without an upload to end there is no room', () => {
    expect(processWith(PLACES).arrive('a')).toBe('full');
  });

  test('each organization gets its quarter, none more than half, and one with most is evicted', () => {
    const organizations = ['a', 'b', 'c', 'd', 'e'];
    const step = fc.record({
      organization: fc.constantFrom('a', 'b', ...organizations),
      act: fc.constantFrom('arrive', 'arrive', 'arrive', 'end', 'progress'),
      which: fc.nat(60),
    });
    const [few, quarter, half] = [16, 4, 8];
    const reached = { evictions: 0, refusals: 0 };
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const { places, arrive, open, evicted } = processWith(0, few);
        const largest = () => Math.max(...organizations.map((name) => count([...open.values()], name)));
        for (const { organization, act, which } of steps) {
          const uploads = [...open].flatMap(([upload, owner]) => (owner === organization ? [upload] : []));
          const upload = uploads[which % Math.max(1, uploads.length)];
          if (act === 'arrive') {
            const [before, most, evictions] = [[...open.values()], largest(), evicted.length];
            const outcome = arrive(organization);
            if (uploads.length < quarter) expect(outcome).toBe('upload');
            else if (outcome !== 'upload') reached.refusals++;
            for (const loser of evicted.slice(evictions)) expect(count(before, loser)).toBe(most);
          } else if (upload !== undefined && act === 'end') {
            places.leave(upload, organization);
            open.delete(upload);
          } else if (upload !== undefined) places.progressed(upload, organization);
          expect(open.size).toBeLessThanOrEqual(few);
          expect(largest()).toBeLessThanOrEqual(half);
        }
        reached.evictions += evicted.length;
        for (const [upload, organization] of open) places.leave(upload, organization);
        expect(places.makeRoom()).toBe(false);
      }),
    );
    expect(Math.min(reached.evictions, reached.refusals)).toBeGreaterThan(100);
  });
});
