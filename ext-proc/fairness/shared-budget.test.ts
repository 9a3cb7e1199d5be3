import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BudgetRefusal, type MemoryReservation, SharedBudget } from './shared-budget.ts';

const QUARTER = 250;

function budgetOf1000() {
  const refused: BudgetRefusal[] = [];
  return { refused, budget: new SharedBudget(4 * QUARTER, (why) => refused.push(why)) };
}

describe('a budget in shares', () => {
  test('one organization alone can pin half, and hold all of it if the rest is evictable', () => {
    const { budget, refused } = budgetOf1000();
    const [kept, more, upload] = [budget.open('a'), budget.open('a'), budget.open('a')];
    expect([kept.take(500), more.take(1)]).toEqual([true, false]);
    upload.makeEvictable({ evict: () => undefined });
    expect([upload.take(500), budget.heldBytes, refused]).toEqual([true, 1000, ['share']]);
  });

  test('pinned memory of one organization leaves a whole share to each of two others', () => {
    const { budget, refused } = budgetOf1000();
    for (const [organization, bytes] of [
      ['a', 500],
      ['b', QUARTER],
      ['c', QUARTER],
    ] as const)
      expect(budget.open(organization).take(bytes)).toBe(true);
    expect([budget.open('b').take(1), budget.open('d').take(1)]).toEqual([false, false]);
    expect(refused).toEqual(['share', 'full']);
  });

  test('an organization that has pinned its share may still pin an empty reservation', () => {
    const { budget, refused } = budgetOf1000();
    expect([budget.open('a').take(400), budget.open('b').take(120)]).toEqual([true, true]);
    const [nothing, something] = [budget.open('a'), budget.open('a')];
    for (const reservation of [nothing, something]) reservation.makeEvictable({ evict: () => undefined });
    expect([something.take(1), something.pin(), nothing.pin(), refused]).toEqual([true, false, true, ['share']]);
  });

  test('the organization that holds most is evicted first, least recent progress first', () => {
    const { budget, refused } = budgetOf1000();
    const gone: string[] = [];
    const open = (organization: string, bytes: number) => {
      const reservation = budget.open(organization);
      reservation.makeEvictable({ evict: () => gone.push(`${organization}${bytes}`) });
      expect(reservation.take(bytes)).toBe(true);
      return reservation;
    };
    open('small', 90);
    const first = open('large', 300);
    open('large', 301);
    open('large', 302);
    first.progressed();
    expect(open('other', 50).heldBytes).toBe(50);
    expect(gone).toEqual(['large301']);
    open('other', 300);
    expect([gone, refused]).toEqual([
      ['large301', 'large302'],
      ['gave_way', 'gave_way'],
    ]);
  });

  test('an organization beyond its share loses memory of its own before others that hold less', () => {
    const { budget } = budgetOf1000();
    const gone: string[] = [];
    for (const [organization, bytes] of [
      ['modest', QUARTER],
      ['a', 200],
    ] as const) {
      const reservation = budget.open(organization);
      reservation.makeEvictable({ evict: () => gone.push(organization) });
      expect(reservation.take(bytes)).toBe(true);
    }
    expect([budget.open('b').take(360), budget.open('a').take(QUARTER - 10)]).toEqual([true, true]);
    expect(gone).toEqual(['a']);
  });

  test('an organization beyond its share evicts none that is within', () => {
    const { budget, refused } = budgetOf1000();
    for (const organization of ['b', 'c', 'd']) {
      const reservation = budget.open(organization);
      reservation.makeEvictable({ evict: () => undefined });
      expect(reservation.take(QUARTER)).toBe(true);
    }
    const pinned = budget.open('a');
    expect([pinned.take(QUARTER), pinned.take(1), refused]).toEqual([true, false, ['share']]);
  });

  test('memory that is pinned again is not evicted, and beyond a share it is pinned only while half is unpinned', () => {
    const { budget } = budgetOf1000();
    let gone = 0;
    const reservations = Array.from({ length: 4 }, () => {
      const reservation = budget.open('a');
      reservation.makeEvictable({ evict: () => gone++ });
      expect(reservation.take(200)).toBe(true);
      return reservation;
    });
    expect(reservations.map((reservation) => reservation.pin())).toEqual([true, true, false, false]);
    expect([budget.open('b').take(QUARTER), gone]).toEqual([true, 1]);
    for (const reservation of reservations.slice(0, 2)) {
      reservation.release();
      reservation.release();
    }
    expect([reservations[3]?.pin(), reservations[3]?.pin()]).toEqual([true, true]);
  });

  test('memory without a known owner is evicted first, and then counts for its organization once that is known', () => {
    const { budget } = budgetOf1000();
    const uploads = [700, 300].map((bytes) => {
      const reservation = budget.open();
      reservation.makeEvictable({ evict: () => undefined });
      expect(reservation.take(bytes)).toBe(true);
      return reservation;
    });
    uploads[1]?.assignTo('a');
    expect(budget.open('b').take(200)).toBe(true);
    expect(uploads.map((reservation) => reservation.heldBytes)).toEqual([0, 300]);
    expect(uploads[1]?.pin()).toBe(true);
    uploads[1]?.shrinkTo(50);
    expect(budget.heldBytes).toBe(250);
  });
});

describe('in any order of events', () => {
  const ORGANIZATIONS = ['a', 'b', 'c', 'modest'];
  const step = fc.record({
    organization: fc.constantFrom(...ORGANIZATIONS),
    which: fc.nat(3),
    act: fc.constantFrom('take', 'take', 'take', 'take', 'makeEvictable', 'pin', 'progressed', 'shrink', 'release'),
    bytes: fc.integer({ min: 1, max: 600 }),
  });

  test('the budget is never exceeded or miscounted, and an organization within its share is not harmed', () => {
    let evictions = 0;
    fc.assert(
      fc.property(fc.boolean(), fc.array(step, { maxLength: 80, size: 'max' }), (areTwoOthers, steps) => {
        const budget = new SharedBudget(4 * QUARTER);
        const reservations = new Map<string, MemoryReservation>();
        const evicted: string[] = [];
        const held = (organization: string) =>
          [...reservations].reduce(
            (sum, [id, reservation]) => sum + (id.startsWith(organization) ? reservation.heldBytes : 0),
            0,
          );
        for (const { organization: drawn, which, act, bytes } of steps) {
          const organization = areTwoOthers && drawn === 'c' ? 'b' : drawn;
          const id = `${organization} ${which}`;
          const reservation = reservations.get(id) ?? budget.open(organization);
          reservations.set(id, reservation);
          const isModest = organization === 'modest';
          if (act === 'take') {
            const asked = isModest ? Math.min(bytes, QUARTER - held('modest')) : bytes;
            const within = ORGANIZATIONS.filter((name) => held(name) <= QUARTER);
            const before = evicted.length;
            const taken = asked === 0 || reservation.take(asked);
            if (isModest && areTwoOthers) expect(taken).toBe(true);
            // Its own evictions may have left it within its share.
            const isWithin = held(organization) + (taken ? 0 : asked) <= QUARTER;
            const harmed = evicted.slice(before).filter((name) => name !== organization && within.includes(name));
            if (!isWithin) expect(harmed).toEqual([]);
          } else if (act === 'makeEvictable') reservation.makeEvictable({ evict: () => evicted.push(organization) });
          else if (act === 'pin') {
            if (!reservation.pin()) expect(isModest).toBe(false);
          } else if (act === 'progressed') reservation.progressed();
          else if (act === 'shrink') reservation.shrinkTo(Math.floor(bytes / 10));
          else reservation.release();
          const all = [...reservations.values()].reduce((sum, { heldBytes }) => sum + heldBytes, 0);
          expect(budget.heldBytes).toBe(all);
          expect(all).toBeLessThanOrEqual(4 * QUARTER);
        }
        evictions += evicted.length;
        for (const reservation of reservations.values()) reservation.release();
        expect([budget.heldBytes, budget.open('a').take(2 * QUARTER)]).toEqual([0, true]);
      }),
      { numRuns: 300 },
    );
    expect(evictions).toBeGreaterThan(50);
  });
});
