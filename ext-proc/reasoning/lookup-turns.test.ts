import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '#core/clock.ts';
import { finish, type Steps } from '../fairness/steps.ts';
import { ValidationTurns } from '../fairness/validation-turns.ts';
import { createMemoryReasoningStore } from '../limits/reasoning/memory-reasoning-store.ts';
import { REASONING_BOUNDS, type ReasoningStore } from '../limits/reasoning/reasoning-store.ts';
import { createKeptReasoning, type KeptReasoning, type ReasoningLookup } from './kept-reasoning.ts';
import { type ReasoningSeal, reasoningSeal } from './reasoning-seal.ts';

const MEMBER = 'reasoning_content';
const ORIGIN = { provider: 'alpha', model: 'its-model' };
const VALUE = 'x'.repeat(30_000);
const MESSAGES = 32;

let nowMs = 0;
let store: ReasoningStore;
beforeEach(() => {
  nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  store = createMemoryReasoningStore({ bounds: REASONING_BOUNDS, clock: systemClock, onEvicted: () => {} });
});
afterEach(() => {
  store.close();
  vi.restoreAllMocks();
});

function keptIn(turns: Pick<ValidationTurns, 'run'>): KeptReasoning {
  // The waits for the store end by the clock, which these tests set.
  const waitMs = 1_000_000;
  return createKeptReasoning({ store, turns: turns as ValidationTurns, waitMs, onResult: () => {}, onFault: () => {} });
}

/** Calls `onBytes` with the bytes that are named or opened at once. */
function watched(organizationId: string, onBytes: (bytes: number) => void): ReasoningSeal {
  const seal = reasoningSeal(organizationId, 'sk-gw-one');
  return {
    ...seal,
    nameOf(calls) {
      onBytes(calls.length);
      return seal.nameOf(calls);
    },
    open(name, sealed) {
      onBytes(sealed.length);
      return seal.open(name, sealed);
    },
  };
}

const sentCall = (id: string, input: string) => ({
  ...{ id, type: 'function', function: { name: 'look', arguments: input } },
});

/** A request with one message for each list of calls. */
function lookup(...messages: readonly (readonly object[])[]) {
  const takeMemory = vi.fn<ReasoningLookup['takeMemory']>(() => true);
  return {
    messages: messages.map((calls, message) => ({
      ...{ message, lacks: [MEMBER] as const, heard: '' },
      toolCalls: Buffer.from(JSON.stringify(calls)),
    })),
    takeMemory,
    gone: () => new AbortController().signal,
  };
}

const LOOP = Array.from({ length: MESSAGES }, (_, at) => [sentCall(`call_${at}`, '{}')]);

async function keepLoop(organizationId: string): Promise<void> {
  const kept = keptIn(new ValidationTurns());
  const seal = reasoningSeal(organizationId, 'sk-gw-one');
  for (const { id } of LOOP.flat()) {
    const calls = [{ type: 'function' as const, id, name: 'look', input: '{}' }];
    await kept.keep(seal, organizationId, ORIGIN, { calls, heard: '', reasoning: { member: MEMBER, value: VALUE } });
  }
}

/** Adds a number to `begun` before each step. */
function* counted<Result>(work: Steps<Result>, begun: number[]): Steps<Result> {
  for (;;) {
    begun.push(0);
    const { done, value } = work.next();
    if (done) return value as Result;
    yield;
  }
}

/** Bytes that each step of a look-up names or opens. */
async function bytesOfSteps(request: ReasoningLookup) {
  const steps: number[] = [];
  const turns = { run: <Result>(_: string, work: Steps<Result>): Result => finish(counted(work, steps)) };
  const seal = watched('org-1', (bytes) => steps.push((steps.pop() ?? 0) + bytes));
  const found = await keptIn(turns).find(seal, 'org-1', request);
  return { steps, found };
}

describe('a look-up of reasoning', () => {
  it('opens one message in each step, once there is memory for all of them', async () => {
    await keepLoop('org-1');
    const request = lookup(...LOOP);
    const { steps, found } = await bytesOfSteps(request);
    expect(found).toHaveLength(MESSAGES);
    expect(steps.filter((bytes) => bytes > VALUE.length)).toHaveLength(MESSAGES);
    expect(Math.max(...steps)).toBeLessThan(VALUE.length + 1_000);
    expect(request.takeMemory.mock.calls).toEqual([[expect.closeTo(MESSAGES * VALUE.length, -5)]]);
    const refused = lookup(...LOOP);
    refused.takeMemory.mockReturnValue(false);
    const without = await bytesOfSteps(refused);
    expect(without.found).toEqual([]);
    expect(Math.max(...without.steps)).toBeLessThan(1_000);
  });

  it('reads the arguments of one call in each step, and at most 256 KiB in total', async () => {
    const input = JSON.stringify(Array(5_000).fill(1));
    const messages = Array.from({ length: 64 }, (_, at) =>
      Array.from({ length: 4 }, (_, call) => sentCall(`call_${at}_${call}`, input)),
    );
    const { steps } = await bytesOfSteps(lookup(...messages));
    const named = steps.filter((bytes) => bytes > 0);
    expect(named.length).toBeGreaterThan(4);
    expect(named.reduce((sum, bytes) => sum + bytes)).toBeLessThanOrEqual(256 * 1024);
    expect(steps.length).toBeGreaterThanOrEqual(5 * named.length);
  });

  it('leaves the turn to another organization after one slice', async () => {
    await keepLoop('org-1');
    await keepLoop('org-2');
    const kept = keptIn(new ValidationTurns());
    const seen: string[] = [];
    const finder = (organizationId: string, loop: readonly (readonly object[])[]) => {
      const seal = watched(organizationId, () => {
        seen.push(organizationId);
        // Longer than a slice.
        nowMs += 11;
      });
      return kept.find(seal, organizationId, lookup(...loop));
    };
    const many = Array.from({ length: 10 }, () => finder('org-1', LOOP));
    const [one] = await Promise.all([finder('org-2', LOOP.slice(0, 1)), ...many]);
    expect(one).toHaveLength(1);
    expect(seen).toHaveLength(2 * (10 * MESSAGES + 1));
    // The first has turns until the other comes: then they alternate, to name and to open.
    expect(seen.lastIndexOf('org-2')).toBeLessThan(10);
  });
});
