import { DAY_MS, firstOfMonth, firstOfNextMonth, type UtcDay } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import type { AdmissionRequest, FundsRule, Refused } from '../limit-store.ts';
import type { KeyState, OrganizationState, Spent } from './account-state.ts';
import { endOf, hasRequest, hasTokens } from './minute-window.ts';

/** Finds the first failing rule in the documented order, with windows at the request's minute. */
export function failingRule(
  request: AdmissionRequest,
  day: UtcDay,
  organization: OrganizationState,
  key: KeyState,
  funds: Funds,
): Pick<Refused, 'rule' | 'ofKey' | 'resetsAtMs'> | undefined {
  const { organizationLimits: ofOrganization, keyLimits: ofKey, tokens, holdNanoUsd, nowMs } = request;
  if (organization.slots >= request.concurrency) return { rule: 'concurrency', ofKey: false, resetsAtMs: nowMs };
  const windows = [
    [organization.window, ofOrganization],
    [key.window, ofKey],
  ] as const;
  for (const [window, limits] of windows) {
    if (!hasRequest(window, limits.requestsPerMinute))
      return { rule: 'requests', ofKey: window === key.window, resetsAtMs: endOf(window) };
  }
  for (const [window, limits] of windows) {
    if (!hasTokens(window, limits.tokensPerMinute, tokens))
      return { rule: 'tokens', ofKey: window === key.window, resetsAtMs: endOf(window) };
  }
  const isOver = isOverBudget(organization, day, holdNanoUsd, ofOrganization.dailyBudgetNanoUsd);
  if (isOver || isOverBudget(key, day, holdNanoUsd, ofKey.dailyBudgetNanoUsd))
    return { rule: 'daily_budget', ofKey: !isOver, resetsAtMs: (day + 1) * DAY_MS };
  if (funds.availableNanoUsd >= holdNanoUsd) return undefined;
  const { rule } = funds;
  return { rule, ofKey: false, resetsAtMs: rule === 'monthly_budget' ? firstOfNextMonth(day) * DAY_MS : nowMs };
}

export interface Funds {
  readonly rule: FundsRule;
  readonly availableNanoUsd: NanoUsd;
}

/** Finds the funds with the least left. */
export function scarcestFunds(
  { keyLimits: { monthlyBudgetNanoUsd, lifetimeBudgetNanoUsd } }: Pick<AdmissionRequest, 'keyLimits'>,
  day: UtcDay,
  organization: OrganizationState,
  key: KeyState,
): Funds {
  let scarcest: Funds = { rule: 'balance', availableNanoUsd: organization.balanceNanoUsd - organization.heldNanoUsd };
  if (lifetimeBudgetNanoUsd !== undefined) {
    const left = budgetLeft(lifetimeBudgetNanoUsd, key.lifetimeSpent, heldWithin(key, -Infinity, Infinity));
    if (left <= scarcest.availableNanoUsd) scarcest = { rule: 'lifetime_budget', availableNanoUsd: left };
  }
  if (monthlyBudgetNanoUsd !== undefined) {
    const first = firstOfMonth(day);
    const held = heldWithin(key, first, firstOfNextMonth(day));
    const left = budgetLeft(monthlyBudgetNanoUsd, key.monthSpent.get(first), held);
    if (left <= scarcest.availableNanoUsd) scarcest = { rule: 'monthly_budget', availableNanoUsd: left };
  }
  return scarcest;
}

function budgetLeft(budgetNanoUsd: NanoUsd, spent: Spent | undefined, heldNanoUsd: NanoUsd): NanoUsd {
  if (spent === undefined) throw new Error('an account snapshot lacks the spend of a budget');
  return budgetNanoUsd - spent.nanoUsd - heldNanoUsd;
}

/** Sums the holds of the days from `first` until before `end`. */
function heldWithin({ heldByDay }: KeyState, first: UtcDay, end: UtcDay): NanoUsd {
  let sum = 0n;
  for (const [day, nanoUsd] of heldByDay) if (day >= first && day < end) sum += nanoUsd;
  return sum;
}

/** Compares a day's budget with the spend and the holds of that day. */
function isOverBudget(
  subject: Pick<OrganizationState | KeyState, 'spent' | 'heldByDay'>,
  day: UtcDay,
  holdNanoUsd: NanoUsd,
  budgetNanoUsd: NanoUsd | undefined,
): boolean {
  if (budgetNanoUsd === undefined) return false;
  const spent = subject.spent.get(day)?.nanoUsd ?? 0n;
  return spent + (subject.heldByDay.get(day) ?? 0n) + holdNanoUsd > budgetNanoUsd;
}
