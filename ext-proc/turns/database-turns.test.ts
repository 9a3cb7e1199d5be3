import { afterEach, describe, expect, test } from 'vitest';
import { StoreUnavailable } from '../../core/store-unavailable.ts';
import { createDatabaseTurns, type TurnLimits } from './database-turns.ts';

/** Ends the calls that a test leaves waiting: their timers and promises would outlive it. */
let endAll = async (): Promise<void> => undefined;
afterEach(() => endAll());

/** Calls that end on request. */
function turnsOf(limits: Partial<TurnLimits> = {}) {
  const turns = createDatabaseTurns({ atOnce: 3, eachAtOnce: 2, eachWaiting: 5, waitMs: 60_000, ...limits });
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const call = (organizationId: string, name = organizationId) =>
    turns.run(organizationId, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.push(resolve));
      return name;
    });
  async function endFirst() {
    ends.shift()?.();
    await new Promise(setImmediate);
  }
  endAll = async () => {
    while (ends.length > 0) await endFirst();
  };
  return { turns, begun, call, endFirst };
}

describe('turns at the database', () => {
  test('one organization has its calls at once, and the rest is for others', async () => {
    const { begun, call, endFirst } = turnsOf();
    for (let index = 0; index < 5; index++) void call('a', `a${index}`);
    void call('b');
    void call('c');
    expect(begun).toEqual(['a0', 'a1', 'b']);
    await endFirst();
    expect(begun).toEqual(['a0', 'a1', 'b', 'c']);
    await endFirst();
    expect(begun).toEqual(['a0', 'a1', 'b', 'c', 'a2']);
  });

  test('organizations that wait come one after the other, however many calls each has', async () => {
    const { begun, call, endFirst } = turnsOf({ atOnce: 1, eachAtOnce: 1, eachWaiting: 1000 });
    for (let index = 0; index < 500; index++) void call('a');
    void call('b');
    void call('c');
    void call('b');
    for (let index = 0; index < 6; index++) await endFirst();
    expect(begun).toEqual(['a', 'b', 'c', 'a', 'b', 'a', 'a']);
  });

  test('are crowded for the organization whose calls wait, and for no other', async () => {
    const { turns, call } = turnsOf({ atOnce: 1 });
    for (let index = 0; index < 6; index++) void call('a');
    void call('b');
    expect([turns.isCrowded('a'), turns.isCrowded('b'), turns.isCrowded('c')]).toEqual([true, false, false]);
  });

  test('a call waits for so long and no longer, and is not begun after that', async () => {
    const { begun, call, endFirst } = turnsOf({ eachAtOnce: 1, waitMs: 50 });
    void call('a', 'first');
    await expect(call('a', 'late')).rejects.toThrow(StoreUnavailable);
    await endFirst();
    void call('a', 'next');
    expect(begun).toEqual(['first', 'next']);
  });

  test('a call that fails gives its turn on, and nothing is kept of whom nothing waits or runs', async () => {
    const { turns, begun, call } = turnsOf({ atOnce: 1 });
    const failing = turns.run('a', () => Promise.reject(new Error('failed')));
    void call('b');
    await expect(failing).rejects.toThrow('failed');
    await new Promise(setImmediate);
    expect(begun).toEqual(['b']);
    expect(turns.isCrowded('a')).toBe(false);
  });
});
