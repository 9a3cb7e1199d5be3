import type { Socket } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DAY_MS, MINUTE_MS, utcDay } from '#core/clock.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { LimitStore } from '#ext-proc/limits/limit-store.ts';
import { propertyRuns } from '../fixtures/property-runs.ts';
import { opened } from '../harness/opened.ts';
import { missingRedis, startTestRedis, type TestRedis } from '../harness/redis-server.ts';
import { startRelay } from '../harness/relay.ts';
import { requirement } from '../harness/requirement.ts';
import {
  admitFresh,
  LEASE_MS,
  NOON_ISH,
  QUARANTINE_MS,
  releaseOf,
  requestOf,
  snapshotOf,
  TOTAL_MS,
} from './limit-store.fixtures.ts';
import { openEmptyStore } from './open-redis-store.ts';

/**
 * Admissions and releases of one moment share a call to Redis, and each is decided as if it were
 * alone.
 */
const REMEMBERING = { leaseMs: LEASE_MS, idleMs: 365 * DAY_MS };
const ORGANIZATIONS = Array.from({ length: 6 }, (_, n) => `org-${n}`);
const nano = fc.bigInt({ min: 0n, max: 400n });
const little = fc.bigInt({ min: 0n, max: 100n });
const limits = fc.record(
  {
    requestsPerMinute: fc.integer({ min: 1, max: 4 }),
    tokensPerMinute: fc.integer({ min: 1, max: 60 }),
    dailyBudgetNanoUsd: nano,
  },
  { requiredKeys: [] },
);
/** Budgets that only keys have. */
const longerBudgets = fc.record({ monthlyBudgetNanoUsd: nano, lifetimeBudgetNanoUsd: nano }, { requiredKeys: [] });
const ask = fc.record({
  kind: fc.constantFrom('admit', 'admit', 'admit', 'owe', 'release', 'release'),
  hold: fc.nat(15),
  key: fc.nat(1),
  organization: fc.constantFrom(0, 0, 0, 1, 2, 3, 4, 5),
  concurrency: fc.integer({ min: 1, max: 5 }),
  organizationLimits: limits,
  keyLimits: fc.tuple(limits, longerBudgets).map(([minuteAndDay, longer]) => ({ ...minuteAndDay, ...longer })),
  tokens: fc.nat(80),
  holdNanoUsd: little,
  // After a new epoch a store has to read again, which leaves little to compare.
  epoch: fc.oneof({ weight: 60, arbitrary: fc.constant('epoch-1') }, fc.constant('epoch-2')),
  sequence: fc.nat(6),
  days: fc.constantFrom(0, 0, 0, 0, -1),
  balance: fc.bigInt({ min: -200n, max: 1_500n }),
  spent: little,
});
type Ask = typeof ask extends fc.Arbitrary<infer T> ? T : never;
const MOMENTS = fc.array(
  fc.record({
    asks: fc.array(ask, { minLength: 1, maxLength: 12, size: 'max' }),
    laterMs: fc.constantFrom(1, 900, 15_000, 40_000, QUARANTINE_MS, 14 * 60 * 60_000),
  }),
  { minLength: 1, maxLength: 12, size: 'max' },
);

/** Makes both keys of each organization known to the store. */
async function beginAll(store: LimitStore): Promise<void> {
  for (const organizationId of ORGANIZATIONS)
    for (const key of [0, 1]) {
      const keyId = `${organizationId} key-${key}`;
      const changes = { organizationId, keyId, holdId: `first of ${keyId}`, holdNanoUsd: 0n, tokens: 0 };
      await admitFresh(store, { ...changes, snapshot: snapshotOf({ sequence: 0 }) });
    }
}

/** Makes the call. A hold id always belongs to one organization and key. */
function answerOf(store: LimitStore, asked: Ask, nowMs: number): Promise<unknown> {
  const organizationId = ORGANIZATIONS[asked.organization] ?? '';
  const subject = { organizationId, keyId: `${organizationId} key-${asked.key}` };
  const holdId = `hold-${asked.hold} of ${subject.keyId}`;
  const { epoch, sequence, balance, spent } = asked;
  const day = utcDay(nowMs) + asked.days;
  const longerSpend = { monthSpent: spent, lifetimeSpent: spent + 1n };
  const snapshot = snapshotOf({ epoch, sequence, balance, day, spent, keySpent: spent, ...longerSpend });
  if (asked.kind === 'owe')
    return store.release({ ...subject, holdId, nowMs, tokensUsed: asked.tokens, owedNanoUsd: asked.holdNanoUsd });
  if (asked.kind === 'release')
    return store.release({ ...subject, holdId, nowMs, tokensUsed: asked.tokens, ...(spent > 9n ? { snapshot } : {}) });
  const { concurrency, organizationLimits, keyLimits, tokens, holdNanoUsd } = asked;
  return store.admit({
    ...{ ...subject, holdId, nowMs, snapshot },
    ...{ concurrency, organizationLimits, keyLimits, tokens, holdNanoUsd, totalTimeoutMs: TOTAL_MS },
  });
}

requirement(missingRedis, () => {
  let redis: TestRedis;
  let other: TestRedis;
  beforeAll(async () => {
    [redis, other] = await Promise.all([startTestRedis(), startTestRedis()]);
  });
  afterAll(() => Promise.all([redis?.stop(), other?.stop()]));

  test('messages that share a call have the same results as separate calls', { timeout: 120_000 }, async () => {
    const results: unknown[] = [];
    await fc.assert(
      fc.asyncProperty(MOMENTS, async (moments) => {
        const store = await openEmptyStore(redis, REMEMBERING);
        const patient = await openEmptyStore(other, REMEMBERING);
        for (const one of [store, patient]) await beginAll(one);
        let nowMs = NOON_ISH;
        for (const { asks, laterMs } of moments) {
          const together = await Promise.all(asks.map((asked) => answerOf(store, asked, nowMs)));
          const alone: unknown[] = [];
          for (const asked of asks) alone.push(await answerOf(patient, asked, nowMs));
          expect(together).toEqual(alone);
          results.push(...together);
          for (const id of ORGANIZATIONS)
            expect(await store.heldNanoUsd(id, nowMs)).toBe(await patient.heldNanoUsd(id, nowMs));
          nowMs += laterMs;
        }
        await patient.close();
        await store.close();
      }),
      { numRuns: propertyRuns(150) },
    );
    for (const kind of ['admitted', 'refused', 'read_again'])
      expect(results).toContainEqual(expect.objectContaining({ kind }));
  });

  test("a hold of yesterday that ends in a call does not count in the call's later admissions", async () => {
    const store = await openEmptyStore(redis, { leaseMs: DAY_MS });
    const keyLimits = { lifetimeBudgetNanoUsd: 100n };
    const hold = { holdId: 'of yesterday', holdNanoUsd: 60n, keyLimits };
    const spent = { monthSpent: 0n, lifetimeSpent: 0n };
    await admitFresh(store, { ...hold, snapshot: snapshotOf(spent) });
    const nowMs = NOON_ISH + 15 * 60 * MINUTE_MS;
    const today = { keyLimits, nowMs, snapshot: snapshotOf({ ...spent, day: utcDay(nowMs) }) };
    const [before, , after] = await Promise.all([
      store.admit(requestOf({ ...today, holdNanoUsd: 30n })),
      store.release(releaseOf('of yesterday', { nowMs })),
      store.admit(requestOf({ ...today, holdNanoUsd: 60n })),
    ]);
    expect([before, after]).toMatchObject([{ kind: 'admitted' }, { kind: 'admitted' }]);
    await store.close();
  });

  test('64 admissions of four organizations are one call, and so are their releases', async () => {
    const store = await openEmptyStore(redis, { leaseMs: LEASE_MS });
    const subjects = ['a', 'b', 'c', 'd'].map((id) => ({ organizationId: `org-${id}`, keyId: `key-${id}` }));
    for (const subject of subjects) await admitFresh(store, subject);
    const before = await scriptCalls(redis);
    const requests = Array.from({ length: 64 }, (_, n) => requestOf({ ...subjects[n % 4], holdNanoUsd: 1n }));
    const results = await Promise.all(requests.map((request) => store.admit(request)));
    expect(results.map(({ kind }) => kind)).toEqual(requests.map(() => 'admitted'));
    expect((await scriptCalls(redis)) - before).toBe(1);
    const [next, ...ended] = requests;
    await Promise.all([
      ...ended.map((request) => store.release({ ...request, tokensUsed: 1, owedNanoUsd: 1n })),
      ...ended.slice(0, 30).map((request) => store.release({ ...request, tokensUsed: 1 })),
      store.admit(requestOf({ ...next, concurrency: 1 })),
    ]);
    expect((await scriptCalls(redis)) - before).toBe(2);
    await store.close();
  });

  test('a call that cannot be serialized fails for all who share it, and the next one works', async () => {
    const store = await openEmptyStore(redis, { leaseMs: LEASE_MS });
    const unwritable = requestOf({ tokens: 1n as unknown as number });
    const results = await Promise.allSettled([
      store.admit(requestOf()),
      store.admit(unwritable),
      store.release(releaseOf('hold')),
    ]);
    for (const result of results) expect(result).toMatchObject({ status: 'rejected', reason: expect.any(TypeError) });
    expect(await admitFresh(store, { holdNanoUsd: 1n })).toMatchObject({ kind: 'admitted' });
    expect(await store.heldNanoUsd('org-1', NOON_ISH)).toBe(1n);
    await store.close();
  });

  test('overwritten keys of one organization do not affect others in the call', async () => {
    const store = await openEmptyStore(redis, { leaseMs: LEASE_MS });
    const broken = { organizationId: 'org-broken', keyId: 'key-broken' };
    await admitFresh(store, broken);
    const [name = ''] = await redis.admin.keys('*:org:org-broken');
    await redis.admin.set(name, 'a text');
    const results = await Promise.allSettled([
      admitFresh(store),
      store.admit(requestOf(broken)),
      store.admit(requestOf(broken)),
      admitFresh(store, { organizationId: 'org-2', keyId: 'key-2' }),
    ]);
    expect(
      results.map((result) => (result.status === 'fulfilled' ? result.value.kind : String(result.reason))),
    ).toEqual(['admitted', expect.stringContaining('WRONGTYPE'), expect.stringContaining('WRONGTYPE'), 'admitted']);
    await store.close();
  });

  test('full memory refuses a whole call, and takes nothing', async () => {
    const store = await openEmptyStore(redis, { leaseMs: LEASE_MS });
    await admitFresh(store, { holdNanoUsd: 1n });
    await redis.admin.config('SET', 'maxmemory', '1mb');
    const results = await Promise.allSettled([1, 2, 3].map(() => store.admit(requestOf())));
    await redis.admin.config('SET', 'maxmemory', '0');
    for (const result of results) expect(result).toMatchObject({ reason: expect.any(StoreUnavailable) });
    expect(await store.heldNanoUsd('org-1', NOON_ISH)).toBe(1n);
    await store.close();
  });

  describe('a proxy that accepts only calls for one slot', () => {
    const proxy = opened(() => startRelay(() => ({ port: redis.port }), { forward: forwardOneSlot }));

    test('gets a separate call for each slot', async () => {
      const url = `redis://127.0.0.1:${proxy.port}`;
      const store = await openEmptyStore({ url, empty: () => redis.empty() }, { leaseMs: LEASE_MS });
      const admitAll = () =>
        Promise.all(ORGANIZATIONS.map((id) => admitFresh(store, { organizationId: id, keyId: `key of ${id}` })));
      for (const { kind } of await admitAll()) expect(kind).toBe('admitted');
      await store.close();
    });
  });
});

async function scriptCalls({ admin }: TestRedis): Promise<number> {
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await admin.info('commandstats'))?.[1]);
}

/** Refuses commands with keys of two slots. */
function forwardOneSlot(client: Socket, server: Socket): void {
  server.pipe(client);
  client.on('data', (data) => {
    const commands = data.toString('latin1').split(/(?=\*\d+\r\n\$\d+\r\n(?:EVAL|evalsha|eval)\b)/i);
    for (const command of commands) {
      const slots = new Set([...command.matchAll(/\r\ngateway:(\{\d+\}):shard\r\n/g)].map(([, slot]) => slot));
      if (slots.size < 2) server.write(command, 'latin1');
      else client.write("-CROSSSLOT Keys in request don't hash to the same slot\r\n");
    }
  });
}
