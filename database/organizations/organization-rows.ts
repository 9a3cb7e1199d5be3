import type pg from 'pg';
import { present } from '#core/present.ts';
import type { Actor } from '../audit/audit.ts';
import { type AuditFields, changesBetween, isEmpty } from '../audit/audit-changes.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { inTransaction, run, sql } from '../connection/connection-pool.ts';
import { isOutOfRange } from '../connection/unavailable.ts';
import { addCredit, refusalOfReference } from './add-credit.ts';
import type {
  BillingData,
  CreateOrganizationResult,
  CreditEntry,
  CreditResult,
  NewOrganization,
  OrganizationChange,
  OrganizationQuery,
  OrganizationRecord,
  OrganizationSettings,
} from './organization-records.ts';
import { afterChange, changedLimits, limitsOf } from './rate-limits.ts';

const COLUMNS = `o.id, o.name, (extract(epoch from o.suspended_at) * 1000)::bigint as suspended_ms, o.allow_n, o.concurrency, o.rpm, o.tpm,
  o.daily_budget_nano_usd, o.max_tokens, o.price_list, o.legal_name, o.billing_address, o.tax_id, o.billing_email, (extract(epoch from o.created_at) * 1000)::bigint as created_ms`;
const SELECT = `select ${COLUMNS}, a.balance_nano_usd from organizations o join accounts a on a.organization_id = o.id`;

const LIST = sql('list_organizations')`${SELECT} order by o.created_at, o.id`;
const SHOW = sql('show_organization')`${SELECT} where o.id = $1`;
const LOCK = sql('lock_organization_for_change')`${SELECT} where o.id = $1 for no key update of o`;
/** Reads a page along the primary key, whose ids sort by time, and compares names on the way. */
const SEARCH = sql('search_organizations')`
  ${SELECT} where ($1::text is null or strpos(lower(o.name), lower($1)) > 0 or o.id = $1) and ($2::text is null or o.id < $2)
    order by o.id desc limit $3`;
const BY_ID = sql('organizations_by_id')`${SELECT} where o.id = any ($1) order by o.id desc`;
const INSERT = sql('insert_organization')`
  insert into organizations (id, name, allow_n, concurrency, rpm, tpm, daily_budget_nano_usd, max_tokens, price_list,
      legal_name, billing_address, tax_id, billing_email)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`;
const UPDATE = sql('update_organization')`
  update organizations
    set name = $2, allow_n = $3, concurrency = $4, rpm = $5, tpm = $6, daily_budget_nano_usd = $7, max_tokens = $8, price_list = $9,
      legal_name = $10, billing_address = $11, tax_id = $12, billing_email = $13
    where id = $1`;
const OPEN_ACCOUNT = sql('open_account')`insert into accounts (organization_id) values ($1)`;
const SUSPEND = sql('set_suspended')`update organizations set suspended_at = case when $2 then now() end where id = $1`;

interface OrganizationRow {
  readonly id: string;
  readonly name: string;
  readonly suspended_ms: string | null;
  readonly allow_n: boolean;
  readonly concurrency: number;
  readonly rpm: string | null;
  readonly tpm: string | null;
  readonly daily_budget_nano_usd: string | null;
  readonly max_tokens: string | null;
  readonly price_list: string | null;
  readonly legal_name: string | null;
  readonly billing_address: string | null;
  readonly tax_id: string | null;
  readonly billing_email: string | null;
  readonly created_ms: string;
  readonly balance_nano_usd: string;
}

/** In the order of their columns. */
const BILLING = [
  'legalName',
  'billingAddress',
  'taxId',
  'billingEmail',
] as const satisfies readonly (keyof BillingData)[];

type Connection = pg.Pool | pg.PoolClient;

/** Commits organization and opening credit together. */
export async function createOrganization(
  pool: pg.Pool,
  organization: NewOrganization,
  by: Actor,
  openingCredit?: CreditEntry,
): Promise<CreateOrganizationResult> {
  const created = inTransaction(pool, 'begin', async (client): Promise<CreateOrganizationResult> => {
    const { id, name } = organization;
    await run(client, INSERT, valuesOf(id, organization));
    await run(client, OPEN_ACCOUNT, [id]);
    const changes = changesBetween({}, fieldsOf(organization));
    await addAuditEvent(client, { action: 'organization.created', ...subjectOf(id, name), changes }, by);
    if (openingCredit) await addCredit(client, { id, name }, openingCredit, by);
    const created = await findOrganization(client, id);
    if (!created) throw new Error('an organization vanished in the transaction that made it');
    return { kind: 'created', organization: created };
  });
  return created.catch((error: unknown) => refusalOfReference(pool, error, openingCredit?.reference));
}

/** Oldest first. */
export async function listOrganizations(pool: pg.Pool): Promise<readonly OrganizationRecord[]> {
  return (await run<OrganizationRow>(pool, LIST, [])).map(recordOf);
}

/** Newest first. */
export async function searchOrganizations(
  pool: pg.Pool,
  { search, beforeId, limit }: OrganizationQuery,
): Promise<readonly OrganizationRecord[]> {
  return (await run<OrganizationRow>(pool, SEARCH, [search ?? null, beforeId ?? null, limit])).map(recordOf);
}

/** Those of these organizations that exist, newest first. */
export async function organizationsById(pool: pg.Pool, ids: readonly string[]): Promise<readonly OrganizationRecord[]> {
  return (await run<OrganizationRow>(pool, BY_ID, [ids])).map(recordOf);
}

export async function findOrganization(on: Connection, id: string): Promise<OrganizationRecord | undefined> {
  const [row] = await run<OrganizationRow>(on, SHOW, [id]);
  return row && recordOf(row);
}

export async function updateOrganization(
  pool: pg.Pool,
  id: string,
  change: OrganizationChange,
  by: Actor,
): Promise<OrganizationRecord | undefined> {
  return onLocked(pool, id, async (client, before) => {
    const after = changed(before, change);
    const changes = changesBetween(fieldsOf(before), fieldsOf(after));
    if (isEmpty(changes)) return;
    await run(client, UPDATE, valuesOf(id, after));
    await addAuditEvent(client, { action: 'organization.updated', ...subjectOf(id, after.name), changes }, by);
  });
}

/** Suspending twice keeps the first time. */
export async function setSuspended(
  pool: pg.Pool,
  id: string,
  suspended: boolean,
  by: Actor,
): Promise<OrganizationRecord | undefined> {
  return onLocked(pool, id, async (client, before) => {
    if (suspended === (before.suspendedAtMs !== undefined)) return;
    await run(client, SUSPEND, [id, suspended]);
    const after = await findOrganization(client, id);
    const changes = changesBetween({ suspendedAtMs: before.suspendedAtMs }, { suspendedAtMs: after?.suspendedAtMs });
    const action = suspended ? 'organization.suspended' : 'organization.resumed';
    await addAuditEvent(client, { action, ...subjectOf(id, before.name), changes }, by);
  });
}

export async function credit(
  pool: pg.Pool,
  organizationId: string,
  entry: CreditEntry,
  by: Actor,
): Promise<CreditResult> {
  try {
    return await inTransaction(pool, 'begin', async (client): Promise<CreditResult> => {
      const organization = await findOrganization(client, organizationId);
      return organization ? addCredit(client, organization, entry, by) : { kind: 'unknown_organization' };
    });
  } catch (error) {
    if (isOutOfRange(error)) return { kind: 'out_of_range' };
    return refusalOfReference(pool, error, entry.reference);
  }
}

/** Locks the organization while `change` runs, and returns it as it is afterwards. */
async function onLocked(
  pool: pg.Pool,
  id: string,
  change: (client: pg.PoolClient, before: OrganizationRecord) => Promise<void>,
): Promise<OrganizationRecord | undefined> {
  return inTransaction(pool, 'begin', async (client) => {
    const [row] = await run<OrganizationRow>(client, LOCK, [id]);
    if (!row) return undefined;
    await change(client, recordOf(row));
    return findOrganization(client, id);
  });
}

function changed(before: OrganizationRecord, change: OrganizationChange): OrganizationSettings {
  const maxTokens = afterChange(before.maxTokens, change.maxTokens);
  const priceList = afterChange(before.priceList, change.priceList);
  return {
    name: change.name ?? before.name,
    allowMultipleCompletions: change.allowMultipleCompletions ?? before.allowMultipleCompletions,
    concurrency: change.concurrency ?? before.concurrency,
    ...present({ maxTokens, priceList }),
    ...present(Object.fromEntries(BILLING.map((name) => [name, afterChange(before[name], change[name])]))),
    limits: changedLimits(before.limits, change),
  };
}

function valuesOf(
  id: string,
  { name, allowMultipleCompletions, concurrency, limits, maxTokens, priceList, ...billing }: OrganizationSettings,
) {
  return [
    id,
    name,
    allowMultipleCompletions,
    concurrency,
    limits.requestsPerMinute ?? null,
    limits.tokensPerMinute ?? null,
    limits.dailyBudgetNanoUsd ?? null,
    maxTokens ?? null,
    priceList ?? null,
    ...BILLING.map((field) => billing[field] ?? null),
  ];
}

function fieldsOf({ limits, ...settings }: OrganizationSettings) {
  const { name, allowMultipleCompletions, concurrency, maxTokens, priceList } = settings;
  const { legalName, billingAddress, taxId, billingEmail } = settings;
  const billing = { legalName, billingAddress, taxId, billingEmail };
  return {
    name,
    allowMultipleCompletions,
    concurrency,
    maxTokens,
    priceList,
    ...limits,
    ...billing,
  } satisfies AuditFields;
}

function subjectOf(id: string, name: string) {
  return { organizationId: id, subjectId: id, subjectName: name };
}

function recordOf(row: OrganizationRow): OrganizationRecord {
  return {
    id: row.id,
    name: row.name,
    ...(row.suspended_ms === null ? {} : { suspendedAtMs: Number(row.suspended_ms) }),
    allowMultipleCompletions: row.allow_n,
    concurrency: row.concurrency,
    ...(row.max_tokens === null ? {} : { maxTokens: Number(row.max_tokens) }),
    ...(row.price_list === null ? {} : { priceList: row.price_list }),
    ...present({
      legalName: row.legal_name ?? undefined,
      billingAddress: row.billing_address ?? undefined,
      taxId: row.tax_id ?? undefined,
      billingEmail: row.billing_email ?? undefined,
    }),
    limits: limitsOf(row.rpm, row.tpm, row.daily_budget_nano_usd),
    balanceNanoUsd: BigInt(row.balance_nano_usd),
    createdAtMs: Number(row.created_ms),
  };
}
