import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DAY_MS, MINUTE_MS, utcDay } from '#core/clock.ts';
import type { KeyLimits, RateLimits } from '#core/principal.ts';
import type { AdmissionRequest, LimitStore } from '#ext-proc/limits/limit-store.ts';
import { propertyRuns } from '../fixtures/property-runs.ts';
import { createLedgerModel } from './ledger.model.ts';
import { DAY, NOON_ISH } from './limit-store.fixtures.ts';
import { FUNDS, INTERLEAVING_LEASES_MS, move, neverBeyond } from './limit-store.interleavings.ts';
import { createLimitModel } from './limit-store.model.ts';

export type OpenForProperties = (options: { readonly leaseMs: number; readonly idleMs: number }) => Promise<LimitStore>;

/** A hold that no store knows. */
const TOTAL_MS = 30_000;
const UNKNOWN = {
  ...{ holdId: 'unknown', organizationId: 'org-1', keyId: 'org-1 key-a' },
  ...{ nowMs: NOON_ISH, day: DAY, holdNanoUsd: 1n, totalTimeoutMs: TOTAL_MS },
};
const RUNS = propertyRuns(150);
/** Long enough for some ten thousand calls to Redis on a busy machine. */
const TIMEOUT_MS = 120_000;
/** Long sequences, because short ones reach no interesting state. */
const LONG = { minLength: 1, maxLength: 100, size: 'max' } as const;
const ORGANIZATIONS = ['org-1', 'org-2'];
const KEYS = ['key-a', 'key-b'];
/** Rules about money. Each has to refuse something, or nothing is proved about it. */
const RULES_OF_MONEY = ['balance', 'daily_budget', 'lifetime_budget', 'monthly_budget'];

/** Properties of every sequence of calls. */
export function limitStoreProperties(name: string, open: OpenForProperties): void {
  describe(`${name} under random sequences`, () => {
    it(
      'decides like a model that computes everything from the list of all calls',
      async () => {
        const rules = new Set<string>();
        await fc.assert(
          fc.asyncProperty(fc.array(step, LONG), (steps) => sameAsModel(open, steps, (rule) => rules.add(rule))),
          { numRuns: RUNS },
        );
        expect([...rules].sort()).toEqual(['concurrency', ...RULES_OF_MONEY, 'requests', 'tokens'].sort());
      },
      TIMEOUT_MS,
    );

    it.each(INTERLEAVING_LEASES_MS)(
      'never admits above the committed balance or budget, with late, repeated or reordered snapshots and releases (leases of %i ms)',
      async (leaseMs) => {
        const rules = new Set<string>();
        for (const funds of FUNDS) {
          const played = fc.asyncProperty(fc.constant(funds), fc.array(move, LONG), async (given, moves) => {
            const store = await open({ leaseMs, idleMs: MINUTE_MS });
            await neverBeyond(store, leaseMs, given, moves, (rule) => rules.add(rule));
          });
          await fc.assert(played, { numRuns: RUNS });
        }
        expect([...rules].sort()).toEqual(RULES_OF_MONEY);
      },
      TIMEOUT_MS,
    );
  });
}

const LIMITS = {
  requestsPerMinute: fc.integer({ min: 1, max: 4 }),
  tokensPerMinute: fc.integer({ min: 1, max: 60 }),
  dailyBudgetNanoUsd: fc.bigInt({ min: 0n, max: 600n }),
};
const limits: fc.Arbitrary<RateLimits> = fc.record(LIMITS, { requiredKeys: [] });
const LONGER = {
  monthlyBudgetNanoUsd: fc.bigInt({ min: 0n, max: 400n }),
  lifetimeBudgetNanoUsd: fc.bigInt({ min: 0n, max: 400n }),
};
const keyLimits: fc.Arbitrary<KeyLimits> = fc.record({ ...LIMITS, ...LONGER }, { requiredKeys: [] });

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('admit' as const),
      organizationId: fc.constantFrom(...ORGANIZATIONS),
      keyId: fc.constantFrom(...KEYS),
      concurrency: fc.integer({ min: 1, max: 5 }),
      organizationLimits: limits,
      keyLimits,
      tokens: fc.integer({ min: 0, max: 80 }),
      holdNanoUsd: fc.bigInt({ min: 0n, max: 300n }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('release' as const),
      pick: fc.nat(),
      tokensUsed: fc.integer({ min: 0, max: 90 }),
      costNanoUsd: fc.option(fc.bigInt({ min: 0n, max: 300n }), { nil: undefined }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('owe' as const),
      pick: fc.nat(),
      tokensUsed: fc.integer({ min: 0, max: 90 }),
      owedNanoUsd: fc.bigInt({ min: 0n, max: 300n }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('renew' as const),
      picks: fc.array(fc.nat(), { maxLength: 4 }),
      owed: fc.constantFrom({}, {}, { owedNanoUsd: 1n }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('advance' as const),
      ms: fc.constantFrom(1, 900, 7_000, 14_999, 15_000, 40_000, 74_999, 90_000, 16 * 60 * MINUTE_MS, 11 * DAY_MS),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('credit' as const), nanoUsd: fc.bigInt({ min: -300n, max: 900n }) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Compares store and model. Every snapshot is fresh here, so that each result is determined. */
async function sameAsModel(
  open: OpenForProperties,
  steps: readonly Step[],
  refused: (rule: string) => void,
): Promise<void> {
  const leaseMs = 15_000;
  const store = await open({ leaseMs, idleMs: 60_000 });
  const model = createLimitModel(leaseMs);
  const ledger = createLedgerModel(200n);
  const requests: AdmissionRequest[] = [];
  let nowMs = NOON_ISH;
  for (const current of steps) {
    if (current.kind === 'advance') nowMs += current.ms;
    else if (current.kind === 'credit') ledger.credit('org-1', current.nanoUsd);
    else if (current.kind === 'admit') {
      const { kind, ...asked } = current;
      const snapshot = ledger.read(asked.organizationId, keyOf(asked), utcDay(nowMs));
      const request = {
        ...asked,
        keyId: keyOf(asked),
        holdId: `${kind}-${requests.length}`,
        nowMs,
        snapshot,
        totalTimeoutMs: TOTAL_MS,
      };
      requests.push(request);
      let result = await store.admit(request);
      if (result.kind === 'read_again') result = await store.admit(request);
      if (result.kind === 'refused') refused(result.rule);
      expect(result).toEqual(model.admit(request));
    } else if (current.kind === 'renew') {
      const picked = [...new Set(current.picks.map((pick) => pick % (requests.length + 1)))];
      const holds = picked.map((i) => ({
        ...(requests[i] ?? UNKNOWN),
        day: utcDay(requests[i]?.nowMs ?? nowMs),
        ...current.owed,
      }));
      const unknown = model.renew(holds, nowMs).map(({ holdId }) => holdId);
      expect(new Set((await store.renew(holds, nowMs)).takenBack)).toEqual(new Set(unknown));
    } else {
      const request = requests[current.pick % Math.max(1, requests.length)];
      if (!request) continue;
      const { holdId, organizationId, keyId } = request;
      const { tokensUsed } = current;
      const costNanoUsd = current.kind === 'release' ? current.costNanoUsd : undefined;
      const owed = current.kind === 'owe' ? { owedNanoUsd: current.owedNanoUsd } : {};
      const isCharged = costNanoUsd !== undefined && model.isHeld(holdId, nowMs);
      if (isCharged) ledger.charge(holdId, request, utcDay(request.nowMs), costNanoUsd);
      const snapshot = ledger.read(organizationId, keyId, utcDay(request.nowMs));
      const release = { holdId, organizationId, keyId, nowMs, tokensUsed, ...(isCharged ? { snapshot } : owed) };
      await store.release(release);
      model.release(release);
    }
    for (const id of ORGANIZATIONS) {
      expect(await store.heldNanoUsd(id, nowMs)).toBe(model.heldNanoUsd(id, nowMs));
    }
  }
  await store.close();
}

/** The id of a key, which belongs to one organization. */
function keyOf({ organizationId, keyId }: { organizationId: string; keyId: string }): string {
  return `${organizationId} ${keyId}`;
}
