import { newId } from '#core/ids.ts';
import { formatUsd, type NanoUsd, usdNumber } from '#core/money.ts';
import { DEFAULT_RULES } from '#core/principal.ts';
import type { Administration } from '#database/administration/administration.ts';
import type { Actor } from '#database/audit/audit.ts';
import type {
  CreateOrganizationResult,
  OrganizationRecord,
  OrganizationSettings,
} from '#database/organizations/organization-records.ts';

export interface CreateOrganizationOptions extends Partial<OrganizationSettings> {
  readonly name: string;
  /** Absent or zero: the balance starts at zero without a ledger entry. */
  readonly creditNanoUsd?: NanoUsd;
  /** Reference of the opening credit. */
  readonly reference?: string;
}

export function createOrganization(
  administration: Administration,
  options: CreateOrganizationOptions,
  by: Actor,
): Promise<CreateOrganizationResult> {
  const { creditNanoUsd = 0n, reference, ...settings } = options;
  const credit = { amountNanoUsd: creditNanoUsd, note: 'Opening credit', ...(reference && { reference }) };
  return administration.createOrganization(
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
    balance: usdNumber(organization.balanceNanoUsd),
    rpm: organization.requestsPerMinute ?? null,
    tpm: organization.tokensPerMinute ?? null,
    concurrency: organization.concurrency,
    daily_budget: organization.dailyBudgetNanoUsd === undefined ? null : usdNumber(organization.dailyBudgetNanoUsd),
    max_tokens: organization.maxTokens ?? null,
    allow_n: organization.allowMultipleCompletions,
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
    ['requests per minute', limitText(organization.requestsPerMinute)],
    ['tokens per minute', limitText(organization.tokensPerMinute)],
    ['concurrency', String(organization.concurrency)],
    ['daily budget', budgetText(organization.dailyBudgetNanoUsd)],
    ['max_tokens', limitText(organization.maxTokens)],
    ['n above 1', organization.allowMultipleCompletions ? 'allowed' : 'not allowed'],
    ['price list', organization.priceList ?? 'none'],
    ['created', new Date(organization.createdAtMs).toISOString()],
  ];
}

/** The limits that have a value. Null stands for `none`. */
export function givenLimits<Limits extends object>(limits: Limits) {
  const given = Object.entries(limits).filter(([, limit]) => limit !== null && limit !== undefined);
  return Object.fromEntries(given) as { readonly [L in keyof Limits]?: NonNullable<Limits[L]> };
}

export function limitText(limit: number | undefined): string {
  return limit === undefined ? 'no limit' : String(limit);
}

export function budgetText(budget: NanoUsd | undefined): string {
  return budget === undefined ? 'no limit' : `${formatUsd(budget)} USD`;
}
