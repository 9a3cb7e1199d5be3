import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MemoryLimitStore } from '#ext-proc/limits/memory/memory-limit-store.ts';
import { organizationKeys } from '#ext-proc/limits/redis/redis-keys.ts';
import type { RedisLimitStore } from '#ext-proc/limits/redis/redis-limit-store.ts';
import { propertyRuns } from '../fixtures/property-runs.ts';
import { addCustomer, addKey, BY, createDatabase, openStore, type TestStore } from '../harness/database.ts';
import { missingRedis, startTestRedis, type TestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { keyLimits } from './money-machine.budgets.ts';
import { type Backing, type Customer, type Mode, OPENING } from './money-machine.mode.ts';
import { beginning, move } from './money-machine.moves.ts';
import { World } from './money-machine.world.ts';
import { openEmptyStore } from './open-redis-store.ts';

/** Histories for each way of keeping limits. MONEY_HISTORIES=10000 is the full test. */
const HISTORIES = Number(process.env.MONEY_HISTORIES ?? propertyRuns(300));
const SEED = Number(process.env.MONEY_SEED ?? '20261121');
const MOST_MOVES = 90;
/** The time-out of one history, which takes 2 ms. One that hangs is a counterexample. */
const MOST_MS = 10_000;
const LEASE_MS = 15_000;
/** Histories with real stores. Fewer would hardly find errors. */
const REAL_HISTORIES = Math.max(12, Math.ceil(HISTORIES / 25));
const LIMIT_MS = 60_000 + HISTORIES * 200;

/** Plays histories, and checks that enough happened in them to prove anything. */
async function playAll(
  open: () => Mode | Promise<Mode>,
  histories: number,
): Promise<{ completed: number; late: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-money-'));
  let completed = 0;
  let late = 0;
  const property = fc.asyncProperty(
    beginning,
    fc.array(move, { minLength: 20, maxLength: MOST_MOVES, size: 'max' }),
    async (begins, moves) => {
      const world = new World(await open(), folder, begins);
      try {
        await world.play(moves);
      } finally {
        completed += world.model.completed;
        late += world.model.late;
        await world.close();
        world.removeLogs();
      }
    },
  );
  try {
    await fc.assert(property, { numRuns: histories, seed: SEED, timeout: MOST_MS });
  } finally {
    rmSync(folder, { recursive: true });
  }
  return { completed, late };
}

describe('the money machine, whatever happens in whatever order', () => {
  test(
    'holds for one process with limits in memory',
    async () => {
      const leaseMs = Number.POSITIVE_INFINITY;
      const mode: Mode = { processes: 1, leaseMs, open: async () => new MemoryLimitStore({ leaseMs }) };
      const { completed, late } = await playAll(() => mode, HISTORIES);
      expect(completed).toBeGreaterThan(HISTORIES);
      expect(late).toBe(0);
    },
    LIMIT_MS,
  );

  test(
    'holds for two processes with a shared store of leases',
    async () => {
      const mode: Mode = {
        processes: 2,
        leaseMs: LEASE_MS,
        open: async () => new MemoryLimitStore({ leaseMs: LEASE_MS }),
      };
      const { completed } = await playAll(() => mode, HISTORIES);
      expect(completed).toBeGreaterThan(HISTORIES);
    },
    LIMIT_MS,
  );

  test(
    'holds for two processes with money in PostgreSQL',
    async () => {
      const store = await openStore(await createDatabase());
      const open = async (): Promise<Mode> => ({
        processes: 2,
        leaseMs: LEASE_MS,
        open: async () => new MemoryLimitStore({ leaseMs: LEASE_MS }),
        ...(await moneyIn(store)),
      });
      try {
        const { completed } = await playAll(open, REAL_HISTORIES);
        expect(completed).toBeGreaterThan(REAL_HISTORIES);
        expect((await store.administration.verifyLedger()).differences).toEqual([]);
      } finally {
        await store.close();
      }
    },
    LIMIT_MS,
  );

  requirement(missingRedis, () => {
    test(
      'holds for two processes with limits in Redis, which may lose data',
      async () => {
        const redis = await startTestRedis();
        const mode: Mode = {
          processes: 2,
          leaseMs: LEASE_MS,
          ...limitsIn(redis),
        };
        try {
          const { completed } = await playAll(() => mode, REAL_HISTORIES);
          expect(completed).toBeGreaterThan(REAL_HISTORIES);
        } finally {
          await redis.stop();
        }
      },
      LIMIT_MS,
    );
  });
});

/** Limits in Redis. Processes share the store, so a touch of one counts for all. */
function limitsIn(redis: TestRedis): Pick<Mode, 'open' | 'server'> {
  let store: RedisLimitStore | undefined;
  return {
    async open(serverNowMs) {
      store = await openEmptyStore(redis, { leaseMs: LEASE_MS, clock: serverNowMs });
      return store;
    },
    server: {
      flush: () => redis.empty(),
      lose: async (organizationId, part) => void (await redis.admin.del(organizationKeys(organizationId)[part])),
      touch: async () => void (await store?.lossDetection.opensInMs()),
    },
  };
}

/** Money of two new customers in this database. */
async function moneyIn(store: TestStore): Promise<Pick<Mode, 'customers' | 'backing'>> {
  const hashes = new Map<string, Buffer>();
  const customers: Customer[] = [];
  for (let i = 0; i < 2; i++) {
    const customer = await addCustomer(store, OPENING);
    const second = await addKey(store, customer.organizationId);
    for (const { keyId, hash } of [customer, second]) {
      hashes.set(keyId, hash);
      // Any budget makes reads return the spend. The simulated process has the real budgets.
      await store.administration.updateKey(customer.organizationId, keyId, keyLimits(1n), BY);
    }
    customers.push({ organizationId: customer.organizationId, keyIds: [customer.keyId, second.keyId] });
  }
  const read: Backing['read'] = async (_organizationId, keyId, day) => {
    const principal = await store.keys.findByHash(hashes.get(keyId) ?? Buffer.alloc(32), day);
    if (!principal) throw new Error('every key is there');
    return principal.account;
  };
  return {
    customers,
    backing: {
      read,
      charge: store.ledger.charge,
      credit: async (organizationId, amountNanoUsd) => {
        await store.administration.credit(organizationId, { amountNanoUsd }, BY);
      },
      renewEpoch: async () => void (await store.administration.renewLedgerEpoch(BY)),
    },
  };
}
