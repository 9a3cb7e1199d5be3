import type { KeyView } from '#contract/keys.ts';
import type { Role } from '#contract/session.ts';
import { utcDay } from '#core/clock.ts';
import { keyStateAt } from '#core/key-state.ts';
import { present } from '#core/present.ts';
import { type KeyDetails, keyDetails } from '#database/keys/key-details.ts';
import type { KeyRecord } from '#database/keys/key-records.ts';
import type { OrganizationCall, UserCall } from '../http/route.ts';
import { shownAmounts } from './amounts.ts';

/** Owners and operators may manage every key of the organization, members only their own. */
export function mayManage(
  { role, session }: Pick<UserCall, 'session'> & { readonly role?: Role },
  { createdBy }: { readonly createdBy?: string },
): boolean {
  return role !== 'member' || createdBy === session.user.id;
}

export async function keyView(call: OrganizationCall, key: KeyRecord): Promise<KeyView> {
  const details = await detailsFor(call, [key.id]);
  return viewOf(call, key, details.get(key.id));
}

/**
 * Bound of revoked keys in the list, so that a user who makes thousands cannot make the page
 * unusable for others.
 */
export const MAX_REVOKED = 1_000;

/** Returns the views newest first. `keys` are oldest first. */
export async function keyViews(call: OrganizationCall, keys: readonly KeyRecord[]): Promise<readonly KeyView[]> {
  const details = await detailsFor(
    call,
    keys.map(({ id }) => id),
  );
  return keys.map((key) => viewOf(call, key, details.get(key.id))).reverse();
}

function detailsFor({ deps, organizationId }: OrganizationCall, keyIds: readonly string[]) {
  return keyDetails(deps.database, organizationId, keyIds, utcDay(deps.nowMs()), 'budgeted_spends');
}

function viewOf(call: OrganizationCall, key: KeyRecord, details: KeyDetails | undefined): KeyView {
  const { id, name, note, last4, scopes, models, ipRanges, expiresAtMs, createdAtMs, revokedAtMs, limits } = key;
  const { creator, lastUsedAtMs, lastAddress, spentTodayNanoUsd = 0n } = details ?? {};
  const { spentThisMonthNanoUsd, spentInLifetimeNanoUsd } = details ?? {};
  return {
    ...{ id, name, last4, state: keyStateAt(key, call.deps.nowMs()), scopes, createdAtMs },
    ...present({ note, models, ipRanges, expiresAtMs, revokedAtMs, lastUsedAtMs, lastAddress, createdBy: creator }),
    ...shownAmounts({ ...limits, spentTodayNanoUsd, ...present({ spentThisMonthNanoUsd, spentInLifetimeNanoUsd }) }),
    mine: mayManage(call, key),
  };
}
