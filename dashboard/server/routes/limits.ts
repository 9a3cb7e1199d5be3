import { present } from '../../../core/present.ts';
import type { KeySettings } from '../../../database/keys/key-records.ts';

/** Limits of keys and organizations: the page has amounts as decimal text, the store as bigint. */
type Limits = KeySettings['limits'];
interface LimitsView extends Omit<Limits, 'dailyBudgetNanoUsd'> {
  readonly dailyBudgetNanoUsd?: string;
}

export function limitsView({ requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd }: Limits): LimitsView {
  return present({ requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd: dailyBudgetNanoUsd?.toString() });
}

export function storedLimits({ requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd: budget }: LimitsView): Limits {
  const dailyBudgetNanoUsd = budget === undefined ? undefined : BigInt(budget);
  return present({ requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd });
}
