import fc from 'fast-check';
import { expect } from 'vitest';
import { firstOfMonth, MINUTE_MS, utcDay } from '#core/clock.ts';
import { present } from '#core/present.ts';
import type { AccountSnapshot } from '#core/principal.ts';
import { type AdmissionRequest, type LimitStore, quarantineMs } from '#ext-proc/limits/limit-store.ts';
import { createLedgerModel } from './ledger.model.ts';
import { NOON_ISH } from './limit-store.fixtures.ts';

/**
 * One move of a history. Reads, admissions, ends, commits and releases of a request are separate
 * moves with any others in between, so that snapshots arrive late, twice and in any order, and
 * organizations are evicted while snapshots of them are in transit.
 */
export const move = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('read'), organization: fc.constantFrom(0, 0, 0, 1), key: fc.nat(1) }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('admit'), pick: fc.nat(), holdNanoUsd: fc.bigInt(1n, 400n) }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('owe'), pick: fc.nat(), share: fc.integer({ min: 50, max: 100 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('commit'), pick: fc.nat(), share: fc.integer({ min: 60, max: 100 }) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('release'), pick: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('abandon'), pick: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('renew'), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('credit'), nanoUsd: fc.bigInt(1n, 300n) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('idle'), minutes: fc.constantFrom(0.5, 2, 30, 14 * 60, 8 * 24 * 60) }),
  },
);
export type Move = typeof move extends fc.Arbitrary<infer T> ? T : never;

interface Hold {
  readonly request: AdmissionRequest;
  readonly day: number;
  /** The time at which the request must have ended. */
  readonly requestEndsAtMs: number;
  expiresAtMs: number;
  /** The exact charge, known when the response has ended. */
  dueNanoUsd?: bigint;
  /** The store knows that the hold is owed. */
  owed: boolean;
  charged: boolean;
  /** The snapshot of the commit, in transit to the store. */
  snapshot?: AccountSnapshot;
}

/**
 * Leases that never expire, as if a living process renewed them, and leases that expire into
 * quarantine.
 */
export const INTERLEAVING_LEASES_MS = [365 * 24 * 60 * MINUTE_MS, 15_000];
const ENOUGH = 100_000n;
const PLENTY = { opening: ENOUGH, daily: ENOUGH, monthly: ENOUGH, lifetime: ENOUGH };
/** What histories have to spend. In all but the first, one amount is scarce. */
export const FUNDS = [
  { opening: 1_000n, daily: 700n, monthly: 900n, lifetime: 1_300n },
  { ...PLENTY, opening: 150n },
  { ...PLENTY, daily: 150n },
  { ...PLENTY, monthly: 150n },
  { ...PLENTY, lifetime: 150n },
];
type Funds = (typeof FUNDS)[number];

/**
 * Plays the moves. Checks invariant 3 of docs/design.md, "Invariants", at every admission, and the
 * same for the budgets of the day, the month and the lifetime. Held amounts are checked after every
 * move, and slots at the end. `refused` is called with the rule of each refusal.
 */
export async function neverBeyond(
  store: LimitStore,
  leaseMs: number,
  { opening, daily, monthly, lifetime }: Funds,
  moves: readonly Move[],
  refused: (rule: string) => void,
): Promise<void> {
  const limits = {
    organizationLimits: { dailyBudgetNanoUsd: daily },
    keyLimits: { monthlyBudgetNanoUsd: monthly, lifetimeBudgetNanoUsd: lifetime },
  };
  const ledger = createLedgerModel(opening);
  const asked: AdmissionRequest[] = [];
  const holds: Hold[] = [];
  const released: Hold[] = [];
  let nowMs = NOON_ISH;
  let requests = 0;

  async function admit(request: AdmissionRequest): Promise<void> {
    const result = await store.admit(request);
    const { organizationId, keyId } = request;
    // A caller that has to read again is admitted after other moves, when its snapshot may be
    // outdated again.
    if (result.kind === 'read_again')
      asked.push({ ...request, snapshot: ledger.read(organizationId, keyId, result.day) });
    if (result.kind === 'refused') refused(result.rule);
    if (result.kind !== 'admitted') return;
    const times = { requestEndsAtMs: nowMs + quarantineMs(request), expiresAtMs: nowMs + leaseMs };
    holds.push({ request, day: result.day, owed: false, charged: false, ...times });
    const uncharged = holds.filter((hold) => hold.request.organizationId === organizationId && !hold.charged);
    const { balanceNanoUsd, spentNanoUsd } = ledger.read(organizationId, keyId, result.day).organization;
    expect(balanceNanoUsd - sumOf(uncharged)).toBeGreaterThanOrEqual(0n);
    expect(spentNanoUsd + sumOf(uncharged.filter(({ day }) => day === result.day))).toBeLessThanOrEqual(daily);
    const { monthSpentNanoUsd = 0n, lifetimeSpentNanoUsd = 0n } = ledger.read(organizationId, keyId, result.day).key;
    const ofKey = uncharged.filter((hold) => hold.request.keyId === keyId);
    const inMonth = ofKey.filter(({ day }) => firstOfMonth(day) === firstOfMonth(result.day));
    expect(monthSpentNanoUsd + sumOf(inMonth)).toBeLessThanOrEqual(monthly);
    expect(lifetimeSpentNanoUsd + sumOf(ofKey)).toBeLessThanOrEqual(lifetime);
  }

  function commit(hold: Hold, share: number): void {
    const { holdId, organizationId, keyId } = hold.request;
    hold.charged = true;
    ledger.charge(holdId, hold.request, hold.day, due(hold, share));
    hold.snapshot = ledger.read(organizationId, keyId, hold.day);
  }

  function due(hold: Hold, share: number): bigint {
    hold.dueNanoUsd ??= (hold.request.holdNanoUsd * BigInt(share)) / 100n;
    return hold.dueNanoUsd;
  }

  async function owe(hold: Hold, share: number): Promise<void> {
    const { holdId, organizationId, keyId } = hold.request;
    await store.release({ holdId, organizationId, keyId, nowMs, tokensUsed: 1, owedNanoUsd: due(hold, share) });
    if (!hold.owed) hold.expiresAtMs = nowMs + leaseMs;
    hold.owed = true;
  }

  /** Passes time. Requests without a renewal end, as if their processes had died. */
  function pass(minutes: number): void {
    nowMs += minutes * MINUTE_MS;
    for (const hold of [...holds]) {
      const { expiresAtMs, requestEndsAtMs, request } = hold;
      const endsAtMs = expiresAtMs < requestEndsAtMs ? requestEndsAtMs : expiresAtMs + quarantineMs(request);
      if (endsAtMs <= nowMs) holds.splice(holds.indexOf(hold), 1);
    }
  }

  async function renew(hold: Hold): Promise<void> {
    const owedNanoUsd = hold.owed ? hold.dueNanoUsd : undefined;
    const { takenBack } = await store.renew([{ ...hold.request, day: hold.day, ...present({ owedNanoUsd }) }], nowMs);
    expect(takenBack).toEqual([]);
    hold.expiresAtMs = nowMs + leaseMs;
  }

  /** Expects exactly the slots of live holds to be taken. */
  async function checkSlots(organization: number): Promise<void> {
    const organizationId = `org-${organization}`;
    const keyId = `${organizationId} key-0`;
    const slots = holds.filter(
      ({ request, owed, expiresAtMs }) => request.organizationId === organizationId && !owed && nowMs < expiresAtMs,
    ).length;
    const snapshot = ledger.read(organizationId, keyId, utcDay(nowMs));
    const request = { ...TEMPLATE, ...limits, organizationId, keyId, nowMs, snapshot, holdNanoUsd: 10n * ENOUGH };
    const ask = async (concurrency: number) => {
      const asking = { ...request, concurrency, holdId: `${organizationId} ${concurrency}` };
      const first = await store.admit(asking);
      return first.kind === 'read_again' ? store.admit(asking) : first;
    };
    expect(await ask(slots)).toMatchObject({ rule: 'concurrency' });
    expect(await ask(slots + 1)).toMatchObject({ rule: expect.stringMatching(/balance|budget/) });
  }

  async function release(hold: Hold): Promise<void> {
    const { holdId, organizationId, keyId } = hold.request;
    const snapshot = hold.snapshot === undefined ? {} : { snapshot: hold.snapshot };
    await store.release({ holdId, organizationId, keyId, nowMs, tokensUsed: 1, ...snapshot });
    const at = holds.indexOf(hold);
    if (at !== -1) released.push(...holds.splice(at, 1));
  }

  async function play(current: Move): Promise<void> {
    if (current.kind === 'idle') pass(current.minutes);
    else if (current.kind === 'renew') {
      const hold = oneOf(holds, current.pick);
      if (hold) await renew(hold);
    } else if (current.kind === 'credit') ledger.credit('org-0', current.nanoUsd);
    else if (current.kind === 'read') {
      const organizationId = `org-${current.organization}`;
      const keyId = `${organizationId} key-${current.key}`;
      const snapshot = ledger.read(organizationId, keyId, utcDay(nowMs));
      asked.push({ ...TEMPLATE, ...limits, holdId: `hold-${requests++}`, organizationId, keyId, nowMs, snapshot });
    } else if (current.kind === 'admit') {
      const at = asked.length === 0 ? 0 : current.pick % asked.length;
      const [request] = asked.splice(at, 1);
      if (request) await admit({ ...request, nowMs, holdNanoUsd: request.holdNanoUsd || current.holdNanoUsd });
    } else if (current.kind === 'owe') {
      // A hold may become owed late, and repeatedly.
      const hold = oneOf([...holds, ...released.filter(({ dueNanoUsd }) => dueNanoUsd !== undefined)], current.pick);
      if (hold) await owe(hold, current.share);
    } else if (current.kind === 'commit') {
      const hold = oneOf(
        holds.filter(({ charged }) => !charged),
        current.pick,
      );
      if (hold) commit(hold, current.share);
    } else {
      const isAbandoned = current.kind === 'abandon';
      // A release may be repeated long after the first.
      const hold = oneOf(
        isAbandoned
          ? holds.filter(({ charged }) => !charged)
          : [...holds.filter(({ charged }) => charged), ...released],
        current.pick,
      );
      if (hold) await release(hold);
    }
  }

  for (const current of moves) {
    await play(current);
    const held = sumOf(
      holds.filter(({ request }) => request.organizationId === 'org-0'),
      ({ owed, dueNanoUsd, request }) => (owed ? dueNanoUsd : undefined) ?? request.holdNanoUsd,
    );
    expect(await store.heldNanoUsd('org-0', nowMs)).toBe(held);
  }
  for (const organization of [0, 1]) await checkSlots(organization);
  await store.close();
}

const TEMPLATE = {
  concurrency: 64,
  tokens: 1,
  holdNanoUsd: 0n,
  totalTimeoutMs: 120_000,
};

function oneOf<T>(list: readonly T[], pick: number): T | undefined {
  return list[pick % Math.max(1, list.length)];
}

/** The highest amount that may still be charged. */
const mostDue = ({ dueNanoUsd, request }: Hold) => dueNanoUsd ?? request.holdNanoUsd;

function sumOf(holds: readonly Hold[], of = mostDue): bigint {
  return holds.reduce((sum, hold) => sum + of(hold), 0n);
}
