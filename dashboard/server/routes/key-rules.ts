import type { KeyChange } from '#contract/keys.ts';
import { formatUsd } from '#core/money.ts';
import type { AboveOrganization } from '#database/keys/key-records.ts';
import { countKeys } from '#database/keys/key-rows.ts';
import { currentConfiguration } from '#database/process-reports/process-reports.ts';
import { type Problem, problem, wrongField } from '../http/problem.ts';
import type { Deps, OrganizationCall } from '../http/route.ts';

const MAX_USABLE_KEYS = 1_000;
/**
 * Revoked keys stay in the database. This bound allows every key to be replaced three times a day,
 * and keeps the table and every page small.
 */
const MAX_KEYS_A_DAY = 3_000;

/** Concurrent creations may exceed the bounds, which only protect the page and the database. */
export async function checkRoom({ deps, organizationId }: OrganizationCall): Promise<Problem | undefined> {
  const { usable, madeWithinDay } = await countKeys(deps.database, organizationId);
  if (usable >= MAX_USABLE_KEYS) {
    return problem(
      'conflict',
      `There ${usable === 1 ? 'is 1 key' : `are ${usable} keys`} already: revoke some that are no longer used.`,
    );
  }
  if (madeWithinDay < MAX_KEYS_A_DAY) return undefined;
  return problem(
    'conflict',
    `${madeWithinDay} keys were created within a day, which is the limit. Try again tomorrow.`,
  );
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

/**
 * Accepts only models of the current configuration, including disabled ones, and models that the
 * key already has. If no process has reported a configuration, all models are accepted, because a
 * key for an unknown model does no harm.
 */
export async function checkModels(
  { database }: Deps,
  models: readonly string[] | null | undefined,
  former: readonly string[] = [],
): Promise<Problem | undefined> {
  const added = models?.filter((id) => !former.includes(id)) ?? [];
  if (added.length === 0) return undefined;
  const configuration = await currentConfiguration(database);
  if (configuration === undefined) return undefined;
  const known = new Set(configuration.models.map(({ id }) => id));
  const unknown = added.find((id) => !known.has(id));
  return unknown === undefined ? undefined : wrongField('models', `There is no model “${unknown}”.`);
}
