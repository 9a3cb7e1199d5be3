import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY_MS, MINUTE_MS, utcDay } from '#core/clock.ts';
import type { AccountSnapshot, KeyLimits, RateLimits } from '#core/principal.ts';
import type { AdmissionRequest, LimitStore } from '#ext-proc/limits/limit-store.ts';
import { MemoryLimitStore } from '#ext-proc/limits/memory/memory-limit-store.ts';
import { propertyRuns } from '../fixtures/property-runs.ts';
import { opened } from '../harness/opened.ts';
import { missingRedis, startTestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { LEASE_MS, NOON_ISH, QUARANTINE_MS, TOTAL_MS } from './limit-store.fixtures.ts';
import { openEmptyStore } from './open-redis-store.ts';

/**
 * The store in memory is the executable specification of the one in Redis. Both return the same for
 * any calls in any order, with snapshots of any age, day and epoch. Only amounts above 2^53 are not
 * compared here (ext-proc/limits/redis/amounts.ts).
 */
type Ask = (store: LimitStore) => Promise<unknown>;

/** Results of admissions, of refusals their rule. Each has to occur, or nothing is compared. */
const RESULTS = [
  ...['admitted', 'read_again', 'concurrency', 'requests', 'tokens'],
  ...['balance', 'daily_budget', 'monthly_budget', 'lifetime_budget'],
];

const HOLDS = 12;
const holdId = fc.nat(HOLDS - 1).map((n) => `hold-${n}`);
const organizationId = fc.constantFrom('org-1', 'org-2');
const keyId = fc.constantFrom('key-a', 'key-b');
// Large amounts, stale days and new epochs are rare, because little is admitted after them.
const upTo = (max: bigint) =>
  fc.oneof(
    { weight: 15, arbitrary: fc.bigInt({ min: 0n, max }) },
    { weight: 1, arbitrary: fc.constantFrom(0n, 2n ** 52n, 2n ** 53n - 1n) },
  );
const nano = upTo(500n);
const little = upTo(100n);
const usually = <T>(usual: T, ...others: T[]) =>
  fc.oneof({ weight: 30, arbitrary: fc.constant(usual) }, fc.constantFrom(...others));
const LIMITS = {
  requestsPerMinute: fc.integer({ min: 1, max: 3 }),
  tokensPerMinute: fc.integer({ min: 1, max: 60 }),
  dailyBudgetNanoUsd: nano,
};
const limits: fc.Arbitrary<RateLimits> = fc.record(LIMITS, { requiredKeys: [] });
const keyLimits: fc.Arbitrary<KeyLimits> = fc.record(
  { ...LIMITS, monthlyBudgetNanoUsd: nano, lifetimeBudgetNanoUsd: nano },
  { requiredKeys: [] },
);
/** A snapshot with days and times relative to the time of the call. */
const snapshot = fc.record({
  epoch: usually('epoch-1', 'epoch-2'),
  sequence: fc.integer({ min: 0, max: 6 }),
  keySequence: fc.integer({ min: 0, max: 6 }),
  day: usually(0, -1, 1),
  keyDay: usually(0, -1),
  balance: fc.oneof(
    { weight: 15, arbitrary: fc.bigInt({ min: -200n, max: 1_500n }) },
    fc.constantFrom(2n ** 53n - 1n, -(2n ** 53n)),
  ),
  spent: little,
  keySpent: little,
  monthSpent: little,
  lifetimeSpent: little,
});
type Snapshot = typeof snapshot extends fc.Arbitrary<infer T> ? T : never;

const command = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('admit' as const),
      ...{ holdId, organizationId, keyId, snapshot },
      concurrency: fc.integer({ min: 1, max: 5 }),
      organizationLimits: limits,
      keyLimits,
      tokens: fc.integer({ min: 0, max: 80 }),
      holdNanoUsd: little,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('release' as const),
      holdId,
      tokensUsed: fc.integer({ min: 0, max: 90 }),
      snapshot: fc.option(snapshot, { nil: undefined }),
      mayBeCharged: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('owe' as const),
      ...{ holdId, tokensUsed: fc.integer({ min: 0, max: 90 }), owedNanoUsd: nano },
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...{ kind: fc.constant('renew' as const), holdIds: fc.uniqueArray(holdId) },
      owed: fc.constantFrom({}, {}, { owedNanoUsd: 1n }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('advance' as const),
      ms: fc.constantFrom(
        1,
        900,
        7_000,
        14_999,
        15_000,
        40_000,
        MINUTE_MS,
        QUARANTINE_MS - LEASE_MS,
        QUARANTINE_MS,
        9 * 60 * MINUTE_MS,
        DAY_MS,
        3 * DAY_MS,
        // Most of these change the month.
        10 * DAY_MS,
        31 * DAY_MS,
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('read' as const), keyId, perMinute: fc.integer({ min: 1, max: 3 }) }),
  },
);
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

function snapshotAt(given: Snapshot, nowMs: number): AccountSnapshot {
  const today = utcDay(nowMs);
  return {
    ledgerEpoch: given.epoch,
    organization: {
      sequence: given.sequence,
      balanceNanoUsd: given.balance,
      day: today + given.day,
      spentNanoUsd: given.spent,
    },
    key: {
      sequence: given.keySequence,
      day: today + given.keyDay,
      spentNanoUsd: given.keySpent,
      monthSpentNanoUsd: given.monthSpent,
      lifetimeSpentNanoUsd: given.lifetimeSpent,
    },
  };
}

/** Calls for both stores. A hold id always belongs to one request. */
function questions(commands: readonly Command[]): Ask[] {
  const owners = new Map<string, Pick<AdmissionRequest, 'organizationId' | 'keyId'>>();
  function ownerOf(id: string) {
    const owner = owners.get(id) ?? { organizationId: 'org-1', keyId: 'org-1 key-a' };
    owners.set(id, owner);
    return owner;
  }
  let nowMs = NOON_ISH;

  function of(each: Command): Ask[] {
    const atMs = nowMs;
    switch (each.kind) {
      case 'advance': {
        nowMs += each.ms;
        const laterMs = nowMs;
        return [(store) => store.heldNanoUsd('org-1', laterMs)];
      }
      case 'read':
        return [(store) => store.takeRead(each.keyId, each.perMinute, atMs)];
      case 'renew': {
        const holds = each.holdIds.map((id) => ({
          holdId: id,
          ...ownerOf(id),
          ...{ day: utcDay(atMs), holdNanoUsd: 1n, totalTimeoutMs: TOTAL_MS, ...each.owed },
        }));
        return [
          async (store) => [...(await store.renew(holds, atMs)).takenBack].sort(),
          (store) => store.heldNanoUsd('org-1', atMs),
          (store) => store.heldNanoUsd('org-2', atMs),
        ];
      }
      case 'owe': {
        const { holdId: id, tokensUsed, owedNanoUsd } = each;
        const owed = { holdId: id, ...ownerOf(id), nowMs: atMs, tokensUsed, owedNanoUsd };
        return [(store) => store.release(owed), (store) => store.heldNanoUsd(owed.organizationId, atMs)];
      }
      case 'release': {
        const { holdId: id, tokensUsed, mayBeCharged } = each;
        const learned = each.snapshot ? { snapshot: snapshotAt(each.snapshot, atMs) } : { mayBeCharged };
        return [(store) => store.release({ holdId: id, ...ownerOf(id), nowMs: atMs, tokensUsed, ...learned })];
      }
      case 'admit': {
        const { kind: _, ...asked } = each;
        const known = owners.get(each.holdId);
        const owner = known ?? { organizationId: each.organizationId, keyId: `${each.organizationId} ${each.keyId}` };
        owners.set(each.holdId, owner);
        const at = { nowMs: atMs, snapshot: snapshotAt(each.snapshot, atMs) };
        const request = { ...asked, ...owner, ...at, totalTimeoutMs: TOTAL_MS };
        return [
          (store) => store.admit(request),
          // A caller that has to read again repeats its call, and a message may arrive twice.
          (store) => store.admit(request),
          (store) => store.heldNanoUsd(owner.organizationId, atMs),
        ];
      }
    }
  }

  return commands.flatMap(of);
}

/**
 * A result without amounts below -2^53, which only one of the stores compares and returns
 * exactly.
 */
function comparable(answer: unknown): unknown {
  const lowest = -(2n ** 53n);
  const { availableNanoUsd, rule } = (answer ?? {}) as { availableNanoUsd?: bigint; rule?: string };
  if (availableNanoUsd === undefined || availableNanoUsd > lowest) return answer;
  const isOfFunds = rule === 'monthly_budget' || rule === 'lifetime_budget' || rule === 'balance';
  return {
    ...(answer as object),
    availableNanoUsd: lowest,
    ...(isOfFunds ? { rule: 'funds', resetsAtMs: 0 } : {}),
  };
}

requirement(missingRedis, () => {
  const redis = opened(startTestRedis);

  test('the stores in memory and in Redis return the same for every sequence of calls', {
    timeout: 120_000,
  }, async () => {
    const results = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 60 }), async (commands) => {
        const memory = new MemoryLimitStore({ leaseMs: LEASE_MS, idleMs: 365 * DAY_MS });
        const inRedis = await openEmptyStore(redis, { leaseMs: LEASE_MS, idleMs: 365 * DAY_MS });
        try {
          for (const ask of questions(commands)) {
            const answer = await ask(inRedis);
            expect(comparable(answer)).toEqual(comparable(await ask(memory)));
            const { kind, rule = kind } = (answer ?? {}) as { kind?: string; rule?: string };
            if (rule !== undefined) results.add(rule);
          }
        } finally {
          await inRedis.close();
        }
      }),
      { numRuns: propertyRuns(250) },
    );
    expect([...results].sort()).toEqual(RESULTS.sort());
  });
});
