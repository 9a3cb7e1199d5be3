import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Steps } from './steps.ts';
import { ValidationTurns } from './validation-turns.ts';

/** Longer than a slice. */
const STEP_MS = 11;
const HERE = () => new AbortController().signal;

let nowMs = 0;
beforeEach(() => {
  nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** Notes each step; `stepMs` of the clock pass in one. */
function* work(name: string, steps: number, seen: string[], stepMs = STEP_MS): Steps<string> {
  for (let step = 1; step <= steps; step++) {
    seen.push(name);
    nowMs += stepMs;
    if (step < steps) yield;
  }
  return name;
}

describe('ValidationTurns', () => {
  it('validates a short body at once', () => {
    const seen: string[] = [];
    expect(new ValidationTurns().run('a', work('small', 3, seen, 1), HERE)).toBe('small');
    expect(seen).toHaveLength(3);
  });

  it('does no more than one slice in a turn of the event loop, however many bodies come', async () => {
    const turns = new ValidationTurns();
    const seen: string[] = [];
    const results = ['1', '2', '3'].map((name) => turns.run('a', work(name, 3, seen), HERE));
    for (let turn = 1; seen.length < 9; turn++) {
      expect(seen.length).toBeLessThanOrEqual(turn);
      await nextTurn();
    }
    expect(await Promise.all(results)).toEqual(['1', '2', '3']);
    expect(seen.join('')).toBe('111222333');
  });

  it('alternates between organizations, slice by slice', async () => {
    const turns = new ValidationTurns();
    const seen: string[] = [];
    const results = [
      turns.run('a', work('a', 4, seen), HERE),
      turns.run('a', work('A', 2, seen), HERE),
      turns.run('b', work('b', 2, seen), HERE),
      turns.run('c', work('c', 3, seen), HERE),
    ];
    await Promise.all(results);
    expect(seen.join('')).toBe('aabcabcacAA');
  });

  it('adds up short work of one turn', async () => {
    const turns = new ValidationTurns();
    const seen: string[] = [];
    const results = Array.from({ length: 40 }, (_, i) => turns.run('a', work(String(i), 1, seen, 1), HERE));
    expect(seen.length).toBeLessThanOrEqual(10);
    await Promise.all(results);
    expect(seen).toHaveLength(40);
    // Later work finds the loop free again.
    await nextTurn();
    expect(turns.run('a', work('later', 1, seen, 1), HERE)).toBe('later');
  });

  it('removes the body of a client that leaves, whether begun or not', async () => {
    const turns = new ValidationTurns();
    const seen: string[] = [];
    const [begun, waiting] = [new AbortController(), new AbortController()];
    const results = [
      turns.run('a', work('a', 50, seen), () => begun.signal),
      turns.run('a', work('b', 50, seen), () => waiting.signal),
      turns.run('a', work('c', 2, seen), HERE),
    ];
    await nextTurn();
    begun.abort();
    waiting.abort();
    expect(await Promise.all(results)).toEqual([undefined, undefined, 'c']);
    expect(seen.join('')).toMatch(/^a{2,4}cc$/);
    expect(await turns.run('a', work('d', 3, seen), () => AbortSignal.abort())).toBeUndefined();
  });

  it('rejects for the caller whose work throws, and goes on', async () => {
    const turns = new ValidationTurns();
    const seen: string[] = [];
    function* broken(): Steps<string> {
      nowMs += STEP_MS;
      yield;
      throw new Error('a bug');
    }
    const failing = turns.run('a', broken(), HERE);
    const other = turns.run('a', work('b', 2, seen), HERE);
    await expect(failing).rejects.toThrow('a bug');
    expect(await other).toBe('b');
  });
});
