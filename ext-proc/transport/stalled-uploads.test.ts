import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { lend } from '#packages/http2-server/borrowed-bytes.ts';
import { SharedBudget } from '../fairness/shared-budget.ts';
import type { BodyBounds, BodyResult } from './exchange.ts';
import { RequestBody } from './request-body.ts';
import { UploadPlaces } from './upload-places.ts';

const KIB = 1024;
const BOUNDS: BodyBounds = {
  organizationId: 'org_a',
  limitBytes: 1000 * KIB,
  mostUploads: 2,
  stallMs: 10_000,
  totalMs: 60_000,
};
const BESIDE_BYTES = 20 * KIB;

let budget: SharedBudget;
let places: UploadPlaces;

beforeEach(() => {
  vi.useFakeTimers();
  budget = new SharedBudget(1000 * KIB);
  places = new UploadPlaces(1000, () => 1);
});
afterEach(() => {
  vi.useRealTimers();
});

function upload(bounds: Partial<BodyBounds> = {}) {
  const body = new RequestBody({ budget, places }, { declaredBytes: 0, besideBytes: BESIDE_BYTES });
  const results: BodyResult['kind'][] = [];
  void body.read({ ...BOUNDS, ...bounds }).then(({ kind }) => results.push(kind));
  return { body, results, push: (length: number) => body.push(lend(Buffer.alloc(length)), 0, length) };
}

describe('an upload', () => {
  test.each([
    ['that is silent', 0, 10_000],
    ['of one byte every second', 1, 10_000],
    ['of a little less than 1 KiB/s', KIB - 1, 10_000],
    ['of a little more', 1.2 * KIB, 60_000],
  ])('%s ends after its time, and holds nothing then', async (_, bytesPerSecond, endsMs) => {
    const { results, push } = upload();
    let lastedMs = 0;
    while (results.length === 0) {
      await vi.advanceTimersByTimeAsync(1_000);
      lastedMs += 1_000;
      push(bytesPerSecond);
    }
    expect(results).toEqual(['timeout']);
    expect(lastedMs).toBe(endsMs);
    expect(budget.heldBytes).toBe(0);
    expect(places.makeRoom()).toBe(false);
  });

  test('has ten seconds for each 10 KiB, in whatever pieces, and for the rest', async () => {
    const { body, results, push } = upload();
    for (let step = 0; step < 5; step++) {
      await vi.advanceTimersByTimeAsync(9_900);
      push(10 * KIB);
    }
    await vi.advanceTimersByTimeAsync(9_900);
    push(1);
    body.finish();
    await vi.advanceTimersByTimeAsync(0);
    expect(results).toEqual(['complete']);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('counts its head while it is unfinished, and its body alone from then on', async () => {
    const { body, push } = upload();
    push(5);
    expect(budget.heldBytes).toBe(BESIDE_BYTES + 5);
    body.finish();
    expect(budget.heldBytes).toBe(5);
    body.discard();
    expect(budget.heldBytes).toBe(0);
  });

  test('whose head finds no memory is refused', async () => {
    for (const organization of ['org_b', 'org_c', 'org_d'])
      expect(budget.open(organization).take(budget.limitBytes / 4)).toBe(true);
    const uploads = Array.from({ length: 13 }, () => upload({ mostUploads: 100 }));
    await vi.advanceTimersByTimeAsync(0);
    // Twelve fit into the 250 KiB that are left; the first of them gave way.
    expect(uploads.flatMap(({ results }) => results)).toEqual(['no_memory']);
  });

  test('beyond the bound of its organization is refused, one that is complete is not', async () => {
    const [first, , third] = [upload(), upload(), upload()];
    const complete = new RequestBody({ budget, places }, { declaredBytes: 0, besideBytes: BESIDE_BYTES });
    complete.finish();
    const other = upload({ organizationId: 'org_b' });
    expect((await complete.read(BOUNDS)).kind).toBe('complete');
    expect([first.results, third.results, other.results]).toEqual([[], ['too_many'], []]);
    first.body.abandon();
    const fourth = upload();
    await vi.advanceTimersByTimeAsync(0);
    expect([first.results, fourth.results]).toEqual([['gone'], []]);
  });

  test('that is ended to make room for others ends like a stalled one', async () => {
    const [first, second] = [upload(), upload()];
    first.push(10 * KIB);
    expect(places.makeRoom()).toBe(true);
    await vi.advanceTimersByTimeAsync(0);
    expect([first.results, second.results]).toEqual([[], ['timeout']]);
  });
});
