import { ORGANIZATION_SETTINGS } from '#contract/shown-settings.ts';
import { newId } from '#core/ids.ts';
import { formatUsd, type NanoUsd, usdJson } from '#core/money.ts';
import { DEFAULT_RULES } from '#core/principal.ts';
import type { Actor } from '#database/audit/audit.ts';
import type {
  CreateOrganizationResult,
  OrganizationRecord,
  OrganizationSettings,
} from '#database/organizations/organization-records.ts';
import { createOrganization } from '#database/organizations/organization-rows.ts';
import type { Pool } from '../command-line/database.ts';
import { settingLines, settingsJson } from '../command-line/setting-flags.ts';

export interface CreateOrganizationOptions extends Partial<OrganizationSettings> {
  readonly name: string;
  /** Absent or zero: the balance starts at zero without a ledger entry. */
  readonly creditNanoUsd?: NanoUsd;
  /** Reference of the opening credit. */
  readonly reference?: string;
}

export function openOrganization(
  pool: Pool,
  options: CreateOrganizationOptions,
  by: Actor,
): Promise<CreateOrganizationResult> {
  const { creditNanoUsd = 0n, reference, ...settings } = options;
  const credit = { amountNanoUsd: creditNanoUsd, note: 'Opening credit', ...(reference && { reference }) };
  return createOrganization(
    pool,
    { id: newId('org', Date.now()), ...DEFAULT_RULES, ...settings },
    by,
    creditNanoUsd === 0n ? undefined : credit,
  );
}

/** JSON of an organization. Absent limits are null, amounts are USD. */
export function organizationJson(organization: OrganizationRecord) {
  return {
    id: organization.id,
    name: organization.name,
    suspended: organization.suspendedAtMs !== undefined,
    balance: usdJson(organization.balanceNanoUsd),
    ...settingsJson(ORGANIZATION_SETTINGS, organization),
    price_list: organization.priceList ?? null,
    created_at: new Date(organization.createdAtMs).toISOString(),
  };
}

/** Labels and values for people to read. */
export function organizationLines(organization: OrganizationRecord): readonly (readonly [string, string])[] {
  return [
    ['id', organization.id],
    ['name', organization.name],
    ['state', organization.suspendedAtMs === undefined ? 'active' : 'suspended'],
    ['balance', `${formatUsd(organization.balanceNanoUsd)} USD`],
    ...settingLines(ORGANIZATION_SETTINGS, organization),
    ['price list', organization.priceList ?? 'none'],
    ['created', new Date(organization.createdAtMs).toISOString()],
  ];
}
