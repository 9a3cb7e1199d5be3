import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../store-unavailable.ts';
import { NoTurn, type TurnLimits, Turns, type TurnTaker } from './turns.ts';

const ORGANIZATIONS: TurnLimits = { atOnce: 3, perOrganization: { atOnce: 2, waiting: 5 }, waitMs: 600_000 };
const USERS: TurnLimits = {
  atOnce: 4,
  perOrganization: { atOnce: 3, waiting: 4 },
  perUser: { atOnce: 2, waiting: 3 },
  waitMs: 600_000,
};

const organization = (organizationId: string): TurnTaker => ({ organizationId });
const user = (userId: string, organizationId?: string): TurnTaker =>
  organizationId === undefined ? { userId } : { userId, organizationId };

/** Ends the turns of a test and those that wait for them: their timers would outlive it. */
const ends: (() => void)[] = [];
afterEach(async () => {
  while (ends.length > 0) await endFirst();
});

async function endFirst(): Promise<void> {
  ends.shift()?.();
  await new Promise(setImmediate);
}

/** Takes turns and records the names of those that began, in order. */
function takers(limits: TurnLimits) {
  const turns = new Turns(limits);
  const begun: string[] = [];
  const take = (taker: TurnTaker, name = taker.userId ?? taker.organizationId) => {
    const turn = turns.take(taker);
    turn.then(
      (end) => {
        begun.push(name ?? '');
        ends.push(end);
      },
      () => undefined,
    );
    return turn;
  };
  return { turns, take, begun };
}

describe('turns of organizations', () => {
  it('an organization has its turns at once, and leaves the others to other organizations', async () => {
    const { begun, take } = takers(ORGANIZATIONS);
    for (let index = 0; index < 5; index++) void take(organization('a'), `a${index}`);
    for (const name of ['b', 'c']) void take(organization(name));
    await Promise.resolve();
    expect(begun).toEqual(['a0', 'a1', 'b']);
    await endFirst();
    expect(begun).toEqual(['a0', 'a1', 'b', 'c']);
    await endFirst();
    expect(begun).toEqual(['a0', 'a1', 'b', 'c', 'a2']);
  });

  it('come one after the other, however many calls of each wait', async () => {
    const { begun, take } = takers({ ...ORGANIZATIONS, atOnce: 1 });
    for (let index = 0; index < 500; index++) void take(organization('a'));
    for (const name of ['b', 'c', 'b']) void take(organization(name));
    await Promise.resolve();
    for (let index = 0; index < 6; index++) await endFirst();
    expect(begun).toEqual(['a', 'b', 'c', 'a', 'b', 'a', 'a']);
  });

  it('are crowded for the organization whose calls wait, and for no other', () => {
    const { turns, take } = takers({ ...ORGANIZATIONS, atOnce: 1 });
    for (const name of ['a', 'a', 'a', 'a', 'a', 'a', 'b']) void take(organization(name));
    expect(['a', 'b', 'c'].map((name) => turns.isCrowded(organization(name)))).toEqual([true, false, false]);
  });
});

describe('turns of users', () => {
  it('are two for a user and three for an organization, of all that there are', async () => {
    const { take, begun } = takers(USERS);
    for (const name of ['a', 'a', 'a', 'b', 'b', 'x', 'x']) void take(user(name, name === 'x' ? 'X' : 'A'));
    await Promise.resolve();
    expect(begun).toEqual(['a', 'a', 'b', 'x']);
    await endFirst();
    // The organization with fewer turns comes first, although it asked last.
    expect(begun).toEqual(['a', 'a', 'b', 'x', 'x']);
  });

  it('bound a user in all organizations together', async () => {
    const { take, begun } = takers(USERS);
    for (const [name, where] of [
      ['a', 'A'],
      ['a', 'B'],
      ['a', 'C'],
      ['a', undefined],
      ['c', 'C'],
    ] as const) {
      void take(user(name, where));
    }
    await Promise.resolve();
    expect(begun).toEqual(['a', 'a', 'c']);
  });

  it('go on in the order of waiting where it makes no difference', async () => {
    const { take, begun } = takers({ ...USERS, atOnce: 1 });
    for (const taker of [user('a'), user('b'), user('c', 'C'), user('d')]) void take(taker);
    await Promise.resolve();
    for (let index = 0; index < 3; index++) await endFirst();
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
  });

  it('are crowded where too many wait, of a user and of an organization', () => {
    const { turns, take } = takers(USERS);
    for (let call = 0; call < 5; call++) void take(user('a', 'A'));
    expect(turns.isCrowded(user('a', 'A'))).toBe(true);
    expect(turns.isCrowded(user('b', 'A'))).toBe(false);
    void take(user('b', 'A'));
    void take(user('b', 'A'));
    expect(turns.isCrowded(user('c', 'A'))).toBe(true);
    expect(turns.isCrowded(user('x', 'X'))).toBe(false);
  });
});

describe('a turn', () => {
  it('that does not come in time tells whose calls are the reason, and its work does not begin', async () => {
    const { turns, take } = takers({ ...USERS, waitMs: 20 });
    const taken = [user('a', 'A'), user('a', 'A'), user('x', 'X'), user('y', 'Y')].map((taker) => take(taker));
    await Promise.all(taken);
    let works = 0;
    const refused = [user('a', 'A'), user('z', 'Z')].map((taker) =>
      turns.run(taker, async () => works++).catch((error: unknown) => error),
    );
    const [own, others] = await Promise.all(refused);
    expect(own).toBeInstanceOf(StoreUnavailable);
    expect(own).toMatchObject({ isOwnFault: true, retryAfterSeconds: 1 });
    expect(others).toMatchObject({ isOwnFault: false });
    while (ends.length > 0) await endFirst();
    expect(works).toBe(0);
    expect(await turns.run(user('z', 'Z'), async () => 'begun')).toBe('begun');
  });

  it('ends with the work, done or failed', async () => {
    const { turns, take, begun } = takers({ ...USERS, atOnce: 1 });
    const failing = turns.run(user('a'), () => Promise.reject(new Error('no')));
    void take(user('b'));
    await expect(failing).rejects.toThrow('no');
    expect(begun).toEqual(['b']);
    await endFirst();
    expect(await turns.run(user('a'), async () => 'done')).toBe('done');
    await expect(turns.run(user('a'), async () => new NoTurn(true, 1))).resolves.toBeInstanceOf(NoTurn);
  });

  it('begins as soon as the bounds allow it, whatever calls come and end', async () => {
    const step = fc.oneof(
      fc.record({ user: fc.constantFrom('u', 'v', 'w'), organization: fc.constantFrom('A', 'B', undefined) }),
      fc.record({ end: fc.nat() }),
    );
    let waited = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const turns = new Turns(USERS);
        const calls: { taker: TurnTaker; end?: () => void; ended?: true }[] = [];
        const running = () => calls.filter((call) => call.end !== undefined && call.ended === undefined);
        const mayBegin = ({ userId, organizationId }: TurnTaker) =>
          running().length < 4 &&
          running().filter(({ taker }) => taker.userId === userId).length < 2 &&
          (organizationId === undefined ||
            running().filter(({ taker }) => taker.organizationId === organizationId).length < 3);
        const endOf = (call: (typeof calls)[number] | undefined) => {
          if (call === undefined) return;
          call.ended = true;
          call.end?.();
        };
        for (const next of steps) {
          if ('end' in next) endOf(running()[next.end % Math.max(1, running().length)]);
          else {
            const call: (typeof calls)[number] = { taker: user(next.user, next.organization) };
            calls.push(call);
            void turns.take(call.taker).then((end) => {
              call.end = end;
            });
          }
          await new Promise(setImmediate);
          expect(running().length).toBeLessThanOrEqual(4);
          for (const name of ['u', 'v', 'w']) {
            expect(running().filter(({ taker }) => taker.userId === name).length).toBeLessThanOrEqual(2);
          }
          for (const { taker, end } of calls) if (end === undefined) expect(mayBegin(taker)).toBe(false);
          waited += calls.filter(({ end }) => end === undefined).length;
        }
        while (running().length > 0) {
          endOf(running()[0]);
          await new Promise(setImmediate);
        }
        expect(calls.every((call) => call.end !== undefined)).toBe(true);
      }),
    );
    expect(waited).toBeGreaterThan(100);
  });
});
