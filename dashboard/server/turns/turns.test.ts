import { afterEach, expect, it } from 'vitest';
import { NoTurn, type TurnLimits, Turns, type TurnTaker } from './turns.ts';

const LIMITS: TurnLimits = {
  ...{ all: 4, perOrganization: 3, perUser: 2 },
  ...{ waitingPerUser: 3, waitingPerOrganization: 4, waitMs: 600_000 },
};
const who = (userId: string, organizationId?: string): TurnTaker => ({
  userId,
  ...(organizationId === undefined ? {} : { organizationId }),
});

/** Ends the turns of a test and those that wait for them: their timers would outlive it. */
const ends: (() => void)[] = [];
afterEach(async () => {
  while (ends.length > 0) {
    for (const end of ends.splice(0)) end();
    await new Promise(setImmediate);
  }
});

/** Takes turns and records who got one, in order. */
function takers(limits: TurnLimits = LIMITS) {
  const turns = new Turns(limits);
  const began: string[] = [];
  const take = (taker: TurnTaker) => {
    const turn = turns.take(taker);
    turn.then(
      (end) => {
        began.push(taker.userId);
        ends.push(end);
      },
      () => undefined,
    );
    return turn;
  };
  return { take, began };
}

it('are two for a user and three for an organization, of all that there are', async () => {
  const { take, began } = takers();
  const first = await take(who('a', 'A'));
  for (const user of ['a', 'a', 'b', 'b', 'x', 'x']) void take(who(user, user === 'x' ? 'X' : 'A'));
  await Promise.resolve();
  expect(began).toEqual(['a', 'a', 'b', 'x']);
  first();
  await Promise.resolve();
  // The organization with fewer turns comes first, although it asked last.
  expect(began).toEqual(['a', 'a', 'b', 'x', 'x']);
});

it('go on in the order of waiting where it makes no difference', async () => {
  const { take, began } = takers({ ...LIMITS, all: 1 });
  const first = await take(who('a'));
  const others = [take(who('b')), take(who('c', 'C')), take(who('d'))];
  first();
  for (const turn of others) (await turn)();
  expect(began).toEqual(['a', 'b', 'c', 'd']);
});

it('are refused where too many wait, of a user and of an organization', async () => {
  const { take } = takers();
  const refusal = { isOwn: true, retryAfterSeconds: 600 };
  for (let turn = 0; turn < 5; turn++) void take(who('a', 'A'));
  await expect(take(who('a', 'A'))).rejects.toMatchObject(refusal);
  void take(who('b', 'A'));
  void take(who('b', 'A'));
  await expect(take(who('c', 'A'))).rejects.toMatchObject(refusal);
  await expect(take(who('x', 'X'))).resolves.toBeTypeOf('function');
});

it('do not come without end, which says whose fault it is', async () => {
  const { take } = takers({ ...LIMITS, waitMs: 20 });
  for (const [user, organization] of [
    ['a', 'A'],
    ['a', 'A'],
    ['x', 'X'],
    ['y', 'Y'],
  ] as const) {
    await take(who(user, organization));
  }
  const waits = [take(who('a', 'A')), take(who('z', 'Z'))].map((turn) => turn.catch((error: NoTurn) => error.isOwn));
  expect(await Promise.all(waits)).toEqual([true, false]);
});

it('end with the work, done or failed', async () => {
  const turns = new Turns({ ...LIMITS, all: 1 });
  await expect(turns.within(who('a'), () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await turns.within(who('a'), async () => 'done')).toBe('done');
  await expect(turns.within(who('a'), async () => new NoTurn(true, 1))).resolves.toBeInstanceOf(NoTurn);
});
