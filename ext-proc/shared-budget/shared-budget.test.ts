import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Refused, type Room, SharedBudget } from './shared-budget.ts';

const QUARTER = 250;

function budgetOf1000() {
  const refused: Refused[] = [];
  return { refused, budget: new SharedBudget(4 * QUARTER, (why) => refused.push(why)) };
}

describe('a budget in shares', () => {
  test('one organization alone keeps half, and all of it with what can be given up', () => {
    const { budget, refused } = budgetOf1000();
    const [kept, more, upload] = [budget.open('a'), budget.open('a'), budget.open('a')];
    expect([kept.take(500), more.take(1)]).toEqual([true, false]);
    upload.yields({ giveUp: () => undefined });
    expect([upload.take(500), budget.heldBytes, refused]).toEqual([true, 1000, ['share']]);
  });

  test('what one organization keeps leaves a whole share to each of two others', () => {
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

  test('the organization that holds most gives way, what got on last at last', () => {
    const { budget, refused } = budgetOf1000();
    const gone: string[] = [];
    const open = (organization: string, bytes: number) => {
      const room = budget.open(organization);
      room.yields({ giveUp: () => gone.push(`${organization}${bytes}`) });
      expect(room.take(bytes)).toBe(true);
      return room;
    };
    open('small', 90);
    const first = open('large', 300);
    open('large', 301);
    open('large', 302);
    first.getsOn();
    expect(open('other', 50).heldBytes).toBe(50);
    expect(gone).toEqual(['large301']);
    open('other', 300);
    expect([gone, refused]).toEqual([
      ['large301', 'large302'],
      ['gave_way', 'gave_way'],
    ]);
  });

  test('what is kept again is not given up, and more than its share only while half of all is free', () => {
    const { budget } = budgetOf1000();
    let gone = 0;
    const rooms = Array.from({ length: 4 }, () => {
      const room = budget.open('a');
      room.yields({ giveUp: () => gone++ });
      expect(room.take(200)).toBe(true);
      return room;
    });
    expect(rooms.map((room) => room.stays())).toEqual([true, true, false, false]);
    expect([budget.open('b').take(QUARTER), gone]).toEqual([true, 1]);
    for (const room of rooms.slice(0, 2)) {
      room.release();
      room.release();
    }
    expect([rooms[3]?.stays(), rooms[3]?.stays()]).toEqual([true, true]);
  });

  test('what nobody is known to own is the first to go, once it is known it counts for its organization', () => {
    const { budget } = budgetOf1000();
    const uploads = [700, 300].map((bytes) => {
      const room = budget.open();
      room.yields({ giveUp: () => undefined });
      expect(room.take(bytes)).toBe(true);
      return room;
    });
    uploads[1]?.belongsTo('a');
    expect(budget.open('b').take(200)).toBe(true);
    expect(uploads.map((room) => room.heldBytes)).toEqual([0, 300]);
    expect(uploads[1]?.stays()).toBe(true);
    uploads[1]?.shrinkTo(50);
    expect(budget.heldBytes).toBe(250);
  });
});

describe('whatever comes in which order', () => {
  const step = fc.record({
    organization: fc.constantFrom('a', 'b', 'modest'),
    which: fc.nat(3),
    act: fc.constantFrom('take', 'take', 'take', 'yields', 'stays', 'getsOn', 'shrink', 'release'),
    bytes: fc.integer({ min: 1, max: 600 }),
  });

  test('it holds no more than it may, loses count of nothing, and an organization within its share has what it asks for', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const budget = new SharedBudget(4 * QUARTER);
        const rooms = new Map<string, Room>();
        const givenUp: string[] = [];
        const held = (organization: string) =>
          [...rooms].reduce((sum, [id, room]) => sum + (id.startsWith(organization) ? room.heldBytes : 0), 0);
        for (const { organization, which, act, bytes } of steps) {
          const id = `${organization} ${which}`;
          const room = rooms.get(id) ?? budget.open(organization);
          rooms.set(id, room);
          const isModest = organization === 'modest';
          if (act === 'take') {
            const asked = isModest ? Math.min(bytes, QUARTER - held('modest')) : bytes;
            const taken = asked === 0 || room.take(asked);
            if (isModest) expect(taken).toBe(true);
          } else if (act === 'yields') room.yields({ giveUp: () => givenUp.push(id) });
          else if (act === 'stays') {
            if (!room.stays()) expect(isModest).toBe(false);
          } else if (act === 'getsOn') room.getsOn();
          else if (act === 'shrink') room.shrinkTo(Math.floor(bytes / 10));
          else room.release();
          const all = [...rooms.values()].reduce((sum, { heldBytes }) => sum + heldBytes, 0);
          expect(budget.heldBytes).toBe(all);
          expect(all).toBeLessThanOrEqual(4 * QUARTER);
        }
        expect(givenUp.filter((id) => id.startsWith('modest'))).toEqual([]);
        for (const room of rooms.values()) room.release();
        expect([budget.heldBytes, budget.open('a').take(2 * QUARTER)]).toEqual([0, true]);
      }),
      { numRuns: 500 },
    );
  });
});
