import { utcDay } from '../../../ext-proc/domain/clock.ts';
import { formatUsd } from '../../../ext-proc/domain/money.ts';
import type { AboveOrganization } from '../../../ext-proc/stores/administration.ts';
import type { KeyChange } from '../../contract/keys.ts';
import { organizationCompanions } from '../../store/organization-companions.ts';
import { type Problem, problem, wrongField } from '../http/problem.ts';
import type { OrganizationCall } from '../route.ts';

const MAX_USABLE_KEYS = 1_000;

/** One of two that are made at the same moment may go beyond: the bound is for the page, which lists them all. */
export async function checkRoom({ deps, organizationId }: OrganizationCall): Promise<Problem | undefined> {
  const companions = await organizationCompanions(deps.database, [organizationId], utcDay(deps.nowMs()));
  const { usableKeys = 0 } = companions.get(organizationId) ?? {};
  if (usableKeys < MAX_USABLE_KEYS) return undefined;
  return problem('conflict', `There are ${usableKeys} keys already: revoke some that are not used any more.`);
}

export function checkExpiry({ deps }: OrganizationCall, wanted: Pick<KeyChange, 'expiresAtMs'>): Problem | undefined {
  const { expiresAtMs } = wanted;
  if (expiresAtMs === undefined || expiresAtMs === null || expiresAtMs > deps.nowMs()) return undefined;
  return wrongField('expiresAtMs', 'This is in the past.');
}

const UNIT = { requestsPerMinute: 'requests per minute', tokensPerMinute: 'tokens per minute' };

export function aboveOrganization({ limit, organizationLimit }: AboveOrganization): Problem {
  const text =
    limit === 'dailyBudgetNanoUsd'
      ? `${formatUsd(BigInt(organizationLimit))} USD a day`
      : `${organizationLimit} ${UNIT[limit]}`;
  return wrongField(limit, `Above the organization's limit of ${text}.`);
}
