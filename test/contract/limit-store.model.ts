import { DAY_MS, firstOfMonth, firstOfNextMonth, MINUTE_MS, utcDay } from '#core/clock.ts';
import type { RateLimits } from '#core/principal.ts';
import {
  type AdmissionRequest,
  type AdmissionResult,
  type FundsRule,
  type Hold,
  type HoldRelease,
  quarantineMs,
  type Refused,
  type Window,
} from '#ext-proc/limits/limit-store.ts';

interface Admission {
  readonly request: Hold;
  readonly atMs: number;
  /** Minute of the windows. Absent if the hold was registered again, which windows do not count. */
  readonly minute?: number;
  tokens: number;
  owedNanoUsd?: bigint;
  released: boolean;
  renewedAtMs: number;
}

/** The rules of docs/interface.md, computed for each call from the list of all admissions. */
export function createLimitModel(leaseMs: number) {
  const admissions: Admission[] = [];

  /** The name and the rest of the scarcest funds. */
  function scarcestFunds(
    { keyLimits, snapshot, nowMs }: AdmissionRequest,
    heldOfKey: readonly Admission[],
    held: readonly Admission[],
  ): readonly [FundsRule, bigint] {
    const month = firstOfMonth(utcDay(nowMs));
    const heldInMonth = heldOfKey.filter(({ request }) => firstOfMonth(request.day) === month);
    const left = (budget: bigint | undefined, spent = 0n, holds: readonly Admission[]) =>
      budget === undefined ? [] : [budget - spent - sumOf(holds)];
    const all = [
      ...left(keyLimits.monthlyBudgetNanoUsd, snapshot.key.monthSpentNanoUsd, heldInMonth).map(
        (rest) => ['monthly_budget', rest] as const,
      ),
      ...left(keyLimits.lifetimeBudgetNanoUsd, snapshot.key.lifetimeSpentNanoUsd, heldOfKey).map(
        (rest) => ['lifetime_budget', rest] as const,
      ),
      ['balance', snapshot.organization.balanceNanoUsd - sumOf(held)] as const,
    ];
    return all.reduce((least, one) => (one[1] < least[1] ? one : least));
  }

  const hasSlot = ({ released, owedNanoUsd, renewedAtMs }: Admission, nowMs: number) =>
    !released && owedNanoUsd === undefined && nowMs < renewedAtMs + leaseMs;
  const isHeld = ({ request, atMs, released, renewedAtMs }: Admission, nowMs: number) => {
    const expiresAtMs = renewedAtMs + leaseMs;
    const requestEndsAtMs = atMs + quarantineMs(request);
    return !released && nowMs < (expiresAtMs < requestEndsAtMs ? requestEndsAtMs : expiresAtMs + quarantineMs(request));
  };
  const findHeld = (holdId: string, nowMs: number) =>
    admissions.find((admission) => admission.request.holdId === holdId && isHeld(admission, nowMs));
  const minuteOf = (ms: number) => Math.floor(ms / MINUTE_MS);
  const sumOf = (of: readonly Admission[]) =>
    of.reduce((sum, { request, owedNanoUsd }) => sum + (owedNanoUsd ?? request.holdNanoUsd), 0n);

  function usage(mine: (other: Hold) => boolean, nowMs: number) {
    const all = admissions.filter(({ request }) => mine(request));
    const inMinute = all.filter(({ minute }) => minute === minuteOf(nowMs));
    const held = all.filter((admission) => isHeld(admission, nowMs));
    return {
      requests: inMinute.length,
      tokens: inMinute.reduce((sum, { tokens }) => sum + tokens, 0),
      live: held.filter((admission) => hasSlot(admission, nowMs)),
      held,
      heldToday: sumOf(held.filter(({ request }) => request.day === utcDay(nowMs))),
    };
  }

  function admit(request: AdmissionRequest): AdmissionResult {
    const { nowMs, snapshot, holdNanoUsd, tokens } = request;
    const subjects = () => {
      const organization = usage((other) => other.organizationId === request.organizationId, nowMs);
      const key = usage((other) => other.keyId === request.keyId, nowMs);
      return [
        { limits: request.keyLimits, spent: snapshot.key.spentNanoUsd, ...key },
        { limits: request.organizationLimits, spent: snapshot.organization.spentNanoUsd, ...organization },
      ] as const;
    };
    const minuteEnd = (minuteOf(nowMs) + 1) * MINUTE_MS;
    const windows = () => ({
      ...windowOf('requests', (limits) => limits.requestsPerMinute, minuteEnd, subjects()),
      ...windowOf('tokens', (limits) => limits.tokensPerMinute, minuteEnd, subjects()),
    });
    const before = subjects();
    const [funds, available] = scarcestFunds(request, before[0].held, before[1].held);
    const fundsResetMs = funds === 'monthly_budget' ? firstOfNextMonth(utcDay(nowMs)) * DAY_MS : nowMs;
    /** Whether a rule fails for the key, and for the organization, to which other rules belong. */
    const rules: readonly (readonly [Refused['rule'], readonly boolean[], number])[] = [
      ['concurrency', [false, before[1].live.length >= request.concurrency], nowMs],
      [
        'requests',
        before.map(({ limits, requests }) => requests + 1 > (limits.requestsPerMinute ?? Infinity)),
        minuteEnd,
      ],
      [
        'tokens',
        before.map((each) => each.tokens > 0 && each.tokens + tokens > (each.limits.tokensPerMinute ?? Infinity)),
        minuteEnd,
      ],
      [
        'daily_budget',
        before.map(({ limits, spent, heldToday }) => {
          const budget = limits.dailyBudgetNanoUsd;
          return budget !== undefined && spent + heldToday + holdNanoUsd > budget;
        }),
        (utcDay(nowMs) + 1) * DAY_MS,
      ],
      [funds, [false, available < holdNanoUsd], fundsResetMs],
    ];
    const failing = rules.find(([, fails]) => fails.includes(true));
    if (failing) {
      const [rule, [, ofOrganization], resetsAtMs] = failing;
      const ofKey = !ofOrganization;
      return { kind: 'refused', rule, ofKey, resetsAtMs, availableNanoUsd: available, windows: windows() };
    }
    const day = utcDay(nowMs);
    const taken = { tokens, released: false, renewedAtMs: nowMs };
    admissions.push({ request: { ...request, day }, atMs: nowMs, minute: minuteOf(nowMs), ...taken });
    return { kind: 'admitted', day, windows: windows() };
  }

  return {
    admit,
    isHeld: (holdId: string, nowMs: number) => findHeld(holdId, nowMs) !== undefined,
    release({ holdId, nowMs, tokensUsed, owedNanoUsd }: HoldRelease) {
      const admission = findHeld(holdId, nowMs);
      if (!admission || (owedNanoUsd !== undefined && admission.owedNanoUsd !== undefined)) return;
      admission.tokens = tokensUsed;
      if (owedNanoUsd === undefined) admission.released = true;
      else {
        const { holdNanoUsd } = admission.request;
        admission.owedNanoUsd = owedNanoUsd < holdNanoUsd ? owedNanoUsd : holdNanoUsd;
        admission.renewedAtMs = nowMs;
      }
    },
    /** Registers holds. Returns those that were unknown. */
    renew: (holds: readonly Hold[], nowMs: number) =>
      holds.filter((hold) => {
        const admission = findHeld(hold.holdId, nowMs);
        if (admission) admission.renewedAtMs = nowMs;
        else if (hold.owedNanoUsd !== undefined) return false;
        else admissions.push({ request: hold, atMs: nowMs, tokens: 0, released: false, renewedAtMs: nowMs });
        return !admission;
      }),
    heldNanoUsd: (organizationId: string, nowMs: number) =>
      sumOf(usage((other) => other.organizationId === organizationId, nowMs).held),
  };
}

function windowOf(
  name: 'requests' | 'tokens',
  limitOf: (limits: RateLimits) => number | undefined,
  resetsAtMs: number,
  subjects: readonly { readonly limits: RateLimits; readonly requests: number; readonly tokens: number }[],
): Partial<Record<'requests' | 'tokens', Window>> {
  const candidates = subjects.flatMap((subject) => {
    const limit = limitOf(subject.limits);
    return limit === undefined ? [] : [{ limit, remaining: Math.max(0, limit - subject[name]), resetsAtMs }];
  });
  const [least] = candidates.toSorted((a, b) => a.remaining - b.remaining);
  return least ? { [name]: least } : {};
}
