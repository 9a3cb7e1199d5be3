import { DAY_MS, type UtcDay } from '../../../core/clock.ts';
import type { NanoUsd } from '../../../core/money.ts';
import type { AdmissionRequest, Refused, Windows } from '../limit-store.ts';
import { type WindowUse, windowsLeft } from '../windows-left.ts';
import type { KeyState, OrganizationState } from './account-state.ts';
import { endOf, hasRequest, hasTokens, type MinuteWindow } from './minute-window.ts';

/**
 * Finds the first failing rule in the documented order. The windows must be moved to the request's
 * minute before.
 */
export function failingRule(
  request: AdmissionRequest,
  day: UtcDay,
  organization: OrganizationState,
  key: KeyState,
): Pick<Refused, 'rule' | 'resetsAtMs'> | undefined {
  const { organizationLimits: ofOrganization, keyLimits: ofKey, tokens, holdNanoUsd, nowMs } = request;
  if (organization.slots >= request.concurrency) return { rule: 'concurrency', resetsAtMs: nowMs };
  for (const [window, limits] of [
    [organization.window, ofOrganization],
    [key.window, ofKey],
  ] as const) {
    if (!hasRequest(window, limits.requestsPerMinute)) return { rule: 'requests', resetsAtMs: endOf(window) };
  }
  for (const [window, limits] of [
    [organization.window, ofOrganization],
    [key.window, ofKey],
  ] as const) {
    if (!hasTokens(window, limits.tokensPerMinute, tokens)) return { rule: 'tokens', resetsAtMs: endOf(window) };
  }
  if (
    isOverBudget(organization, day, holdNanoUsd, ofOrganization.dailyBudgetNanoUsd) ||
    isOverBudget(key, day, holdNanoUsd, ofKey.dailyBudgetNanoUsd)
  ) {
    return { rule: 'daily_budget', resetsAtMs: (day + 1) * DAY_MS };
  }
  if (organization.balanceNanoUsd - organization.heldNanoUsd < holdNanoUsd) {
    return { rule: 'balance', resetsAtMs: nowMs };
  }
  return undefined;
}

export function windowsOf(request: AdmissionRequest, organization: OrganizationState, key: KeyState): Windows {
  const use = (window: MinuteWindow): WindowUse => ({ ...window, resetsAtMs: endOf(window) });
  return windowsLeft(request, use(organization.window), use(key.window));
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
