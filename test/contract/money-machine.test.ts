import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMemoryLimitStore } from '../../ext-proc/stores/memory/limit-store.ts';
import { beginning, move } from './money-machine.moves.ts';
import { type Mode, World } from './money-machine.world.ts';

/** Histories for each way of keeping limits; the full proof: MONEY_HISTORIES=10000. */
const HISTORIES = Number(process.env.MONEY_HISTORIES ?? '400');
const SEED = Number(process.env.MONEY_SEED ?? '20261121');
const MOST_MOVES = 60;
/** For one history, which takes two: one that hangs is a counterexample. */
const MOST_MS = 10_000;
const LEASE_MS = 15_000;
const LIMIT_MS = 30_000 + HISTORIES * 50;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gw-money-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Histories that stayed quiet prove nothing: how much happened in all of them. */
async function playAll(mode: Mode, histories: number): Promise<{ completed: number; late: number }> {
  let completed = 0;
  let late = 0;
  const property = fc.asyncProperty(
    beginning,
    fc.array(move, { minLength: 5, maxLength: MOST_MOVES, size: 'max' }),
    async (beginsMs, moves) => {
      const world = new World(mode, folder, beginsMs);
      try {
        await world.play(moves);
      } finally {
        completed += world.model.completed;
        late += world.model.late;
        await world.close();
        world.removeSpools();
      }
    },
  );
  await fc.assert(property, { numRuns: histories, seed: SEED, timeout: MOST_MS });
  return { completed, late };
}

describe('the money machine, whatever happens in whatever order', () => {
  test(
    'of one process with limits in its memory',
    async () => {
      const leaseMs = Number.POSITIVE_INFINITY;
      const mode: Mode = { processes: 1, leaseMs, open: async () => createMemoryLimitStore({ leaseMs }) };
      const { completed, late } = await playAll(mode, HISTORIES);
      expect(completed).toBeGreaterThan(HISTORIES);
      expect(late).toBe(0);
    },
    LIMIT_MS,
  );

  test(
    'of two processes with one store of leases',
    async () => {
      const mode: Mode = {
        processes: 2,
        leaseMs: LEASE_MS,
        open: async () => createMemoryLimitStore({ leaseMs: LEASE_MS }),
      };
      const { completed } = await playAll(mode, HISTORIES);
      expect(completed).toBeGreaterThan(HISTORIES);
    },
    LIMIT_MS,
  );
});
