import type { KeyView } from '#contract/keys.ts';
import type { Role } from '#contract/session.ts';
import { KEY_SETTINGS } from '#contract/shown-settings.ts';
import { utcDay } from '#core/clock.ts';
import { keyStateAt } from '#core/key-state.ts';
import { present } from '#core/present.ts';
import { type KeyDetails, keyDetails } from '#database/keys/key-details.ts';
import type { KeyRecord } from '#database/keys/key-records.ts';
import { newestKeys } from '#database/keys/key-table.ts';
import type { OrganizationCall, UserCall } from '../http/route.ts';
import { shownAmounts, shownSettings } from './amounts.ts';

/** Owners and operators may manage every key of the organization, members only their own. */
export function mayManage(
  { role, session }: Pick<UserCall, 'session'> & { readonly role?: Role },
  { createdBy }: { readonly createdBy?: string },
): boolean {
  return role !== 'member' || createdBy === session.user.id;
}

export async function keyView(call: OrganizationCall, key: KeyRecord): Promise<KeyView> {
  const { deps, organizationId } = call;
  return viewOf(call, key, await keyDetails(deps.database, organizationId, key.id, utcDay(deps.nowMs())));
}

/** Bound of revoked keys in the list, which keeps the page usable for other users. */
const MAX_REVOKED = 1_000;

/** Returns the views newest first. */
export async function keyViews(call: OrganizationCall): Promise<readonly KeyView[]> {
  const { deps, organizationId } = call;
  const keys = await newestKeys(deps.database, organizationId, MAX_REVOKED, utcDay(deps.nowMs()));
  return keys.map((key) => viewOf(call, key, key));
}

function viewOf(call: OrganizationCall, key: KeyRecord, details: KeyDetails | undefined): KeyView {
  const { id, last4, createdAtMs, revokedAtMs } = key;
  const { creator, lastUsedAtMs, lastAddress, spentTodayNanoUsd = 0n } = details ?? {};
  const { spentThisMonthNanoUsd, spentInLifetimeNanoUsd } = details ?? {};
  return {
    ...{ id, last4, state: keyStateAt(key, call.deps.nowMs()), createdAtMs },
    ...shownSettings(KEY_SETTINGS, key),
    ...present({ revokedAtMs, lastUsedAtMs, lastAddress, createdBy: creator }),
    ...shownAmounts({ spentTodayNanoUsd, ...present({ spentThisMonthNanoUsd, spentInLifetimeNanoUsd }) }),
    mine: mayManage(call, key),
  };
}
