import type { OrganizationLimits } from '#contract/organization.ts';
import { formatMoney } from '../format/format-money.ts';
import { formatCompact } from '../format/format-number.ts';

/** The limits that are set: `600 requests a minute`, `$80.00 a day`. Concurrency always is. */
export function limitLabels(limits: OrganizationLimits): readonly string[] {
  const { requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd, maxTokens, concurrency } = limits;
  return [
    requestsPerMinute !== undefined &&
      `${formatCompact(requestsPerMinute)} ${requestsPerMinute === 1 ? 'request' : 'requests'} a minute`,
    tokensPerMinute !== undefined &&
      `${formatCompact(tokensPerMinute)} ${tokensPerMinute === 1 ? 'token' : 'tokens'} a minute`,
    dailyBudgetNanoUsd !== undefined && `${formatMoney(dailyBudgetNanoUsd)} a day`,
    maxTokens !== undefined && `${formatCompact(maxTokens)} output tokens a request`,
    `${formatCompact(concurrency)} ${concurrency === 1 ? 'request' : 'requests'} at once`,
    limits.allowMultipleCompletions && 'several completions a request',
  ].filter((words) => words !== false);
}
