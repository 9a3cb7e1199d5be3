import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { systemClock as clock, utcDay } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import type { Log } from '#core/log/log.ts';
import { flatTable, NO_PRICES, NO_USAGE } from '#core/pricing.ts';
import type { Ledger } from '#database/ledger/ledger.ts';
import { Accounting } from '#ext-proc/billing/accounting.ts';
import { HoldKeeper } from '#ext-proc/billing/hold-keeper.ts';
import type { OpenHold } from '#ext-proc/billing/open-hold.ts';
import type { LimitStore } from '#ext-proc/limits/limit-store.ts';
import { MemoryLimitStore } from '#ext-proc/limits/memory/memory-limit-store.ts';
import type { AuthorizedRequest } from '#ext-proc/requests/authorized-request.ts';
import { showCredits } from '#ext-proc/requests/credits.ts';
import { createMetrics } from '#ext-proc/telemetry/metrics.ts';
import { memoryChargeLog } from '../fixtures/memory-charge-log.ts';
import { propertyRuns } from '../fixtures/property-runs.ts';
import { createMemoryLedger } from './memory-ledger.ts';

/** Reads of the credits while charges of two processes are in transit. */

const [ORGANIZATION, KEY] = ['org-1', 'key-1'];
const CREDIT = 1_000_000n;
const HELD = 1_000n;
const TABLE = flatTable({ ...NO_PRICES, outputPicoUsd: 1_000n });
const RUNS = propertyRuns(200);
const silent = { info() {}, warn() {}, error() {} } as unknown as Log;

/** The tokens of each request at a nano-dollar, absent if it goes on, and delays of stores. */
const SCENE = fc.record({
  requests: fc.array(
    fc.record({ process: fc.nat(1), tokens: fc.option(fc.integer({ min: 1, max: 1_000 }), { nil: undefined }) }),
    { minLength: 1, maxLength: 12 },
  ),
  delaysMs: fc.array(fc.nat(4), { minLength: 1, maxLength: 40 }),
});

async function play({ requests, delaysMs }: typeof SCENE extends fc.Arbitrary<infer Scene> ? Scene : never) {
  let calls = 0;
  const slowly = async <T>(work: () => Promise<T>): Promise<T> => {
    await sleep(delaysMs[calls++ % delaysMs.length] ?? 0);
    const done = await work();
    await sleep(delaysMs[calls++ % delaysMs.length] ?? 0);
    return done;
  };
  const memory = createMemoryLedger();
  memory.addKey(ORGANIZATION, KEY);
  memory.credit(ORGANIZATION, CREDIT);
  const ledger: Ledger = {
    ...memory,
    charge: (settlement) => slowly(() => memory.charge(settlement)),
    credits: (organizationId) => slowly(() => memory.credits(organizationId)),
  };
  const store = new MemoryLimitStore({ leaseMs: 60_000 });
  const limits = {
    renew: store.renew.bind(store),
    release: (release: Parameters<typeof store.release>[0]) => slowly(() => store.release(release)),
    heldNanoUsd: (...of: Parameters<typeof store.heldNanoUsd>) => slowly(() => store.heldNanoUsd(...of)),
  };
  const processes = [0, 1].map(() => startProcess(ledger, limits));
  let spent = 0n;
  let open = 0n;
  const going: OpenHold[] = [];
  for (const { process, tokens } of requests) {
    const hold = await openHold(processes[process], { memory, store });
    going.push(hold);
    if (tokens === undefined) open += HELD;
    else {
      await hold.charge(produced(tokens));
      spent += BigInt(tokens);
    }
  }
  const read = async (process: (typeof processes)[number]): Promise<bigint> => {
    const result = await showCredits(REQUEST, { ledger, limits, accounting: process.accounting });
    if (!('body' in result)) throw new Error('a read of the credits has a body');
    const { available } = (result.body as { data: { available: number } }).data;
    return BigInt(Math.round(available * 1e9));
  };
  const shown: bigint[] = [];
  const reads = processes.flatMap((process) =>
    Array.from({ length: 4 }, async (_, n) => {
      await sleep(n * 2);
      shown.push(await read(process));
    }),
  );
  await Promise.all(reads);
  for (const { accounting } of processes) await accounting.shipper.ship();
  // Holds end shortly after their commits.
  await expect.poll(() => store.heldNanoUsd(ORGANIZATION, clock.nowMs()), { interval: 1 }).toBe(open);
  const there = CREDIT - spent - open;
  const late = await Promise.all(processes.map(read));
  await Promise.all(going.map((hold) => hold.release()));
  for (const process of processes) await process.close();
  return { there, shown, late };
}

interface Stores {
  readonly memory: ReturnType<typeof createMemoryLedger>;
  readonly store: MemoryLimitStore;
}

async function openHold(process: ReturnType<typeof startProcess> | undefined, { memory, store }: Stores) {
  if (process === undefined) throw new Error('there are two processes');
  // A snapshot of the day before would be read again forever.
  const nowMs = clock.nowMs();
  const day = utcDay(nowMs);
  const generationId = newId('gen', nowMs);
  const of = { organizationId: ORGANIZATION, keyId: KEY, holdNanoUsd: HELD, totalTimeoutMs: 60_000 };
  const snapshot = memory.read(ORGANIZATION, KEY, day);
  const rules = { concurrency: 100, tokens: 1, organizationLimits: {}, keyLimits: {}, nowMs };
  while ((await store.admit({ ...of, ...rules, holdId: generationId, snapshot })).kind === 'read_again');
  const asked = { model: 'm', priceTable: TABLE, streamed: false, createdAtMs: 1, mostOutputTokens: 1_000 };
  return process.accounting.open({ ...of, ...asked, generationId, day });
}

function startProcess(ledger: Ledger, limits: Pick<LimitStore, 'renew' | 'release'>) {
  const leases = { renewEveryMs: 60_000, renewWithinMs: 60_000, onProblem: () => undefined };
  const holds = new HoldKeeper({ limits, clock, log: silent, ...leases });
  const accounting = new Accounting({
    ...{ ledger, holds, clock, metrics: METRICS, log: silent, othersTakeMs: 0 },
    ...{ chargeLog: memoryChargeLog(), durableIn: () => 'log' as const },
    idempotency: { free: async () => undefined },
    attempts: { record: () => undefined },
    room: { problem: () => undefined },
  });
  return { accounting, close: () => accounting.close() };
}

const METRICS = createMetrics();
const PRODUCED = {
  provider: 'p',
  providerModel: 'm',
  usageCounted: false,
  cancelled: false,
  ...{ firstEventMs: 1, generationTimeMs: 1 },
} as const;
const produced = (tokens: number) => ({ ...PRODUCED, usage: { ...NO_USAGE, completionTokens: tokens } });
const REQUEST = {
  route: { query: '' },
  principal: { organization: { id: ORGANIZATION } },
  arrivedAtMs: clock.nowMs(),
  takeRead: async () => undefined,
} as unknown as AuthorizedRequest;

test('no read shows more money than there is, and the last reads show all of it', { timeout: 120_000 }, () =>
  fc.assert(
    fc.asyncProperty(SCENE, async (scene) => {
      const { there, shown, late } = await play(scene);
      for (const one of shown) expect(one).toBeLessThanOrEqual(there);
      expect(late).toEqual([there, there]);
    }),
    { numRuns: RUNS },
  ),
);

test('a process closes after the limit store has replied to the releases of its last charges', async () => {
  const memory = createMemoryLedger();
  memory.addKey(ORGANIZATION, KEY);
  memory.credit(ORGANIZATION, CREDIT);
  const store = new MemoryLimitStore({ leaseMs: 60_000 });
  const release = async (given: Parameters<typeof store.release>[0]) => {
    await sleep(20);
    await store.release(given);
  };
  const process = startProcess(memory, { renew: store.renew.bind(store), release });
  const hold = await openHold(process, { memory, store });
  await hold.charge(produced(10));
  await process.close();
  expect(await store.heldNanoUsd(ORGANIZATION, clock.nowMs())).toBe(0n);
});
