import type pg from 'pg';
import { present } from '#core/present.ts';
import type { RateLimits } from '#core/principal.ts';
import type { Actor } from '../audit/audit.ts';
import { changesBetween, isEmpty } from '../audit/audit-changes.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { type Connection, inTransaction, records, run, type Statement, sql } from '../connection/connection-pool.ts';
import { nearestMilliseconds } from '../connection/milliseconds.ts';
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
import { afterChange, changedLimits, limitColumns, withLimits } from './rate-limits.ts';

const SELECT = `select o.id, o.name, ${nearestMilliseconds('o.suspended_at')} as "suspendedAtMs", o.allow_n as "allowMultipleCompletions",
  o.concurrency, ${limitColumns('o')}, o.max_tokens::float8 as "maxTokens", o.price_list as "priceList",
  o.legal_name as "legalName", o.billing_address as "billingAddress", o.tax_id as "taxId", o.billing_email as "billingEmail",
  a.balance_nano_usd as "balanceNanoUsd", ${nearestMilliseconds('o.created_at')} as "createdAtMs"
  from organizations o join accounts a on a.organization_id = o.id`;

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

type OrganizationRow = Omit<OrganizationRecord, 'limits'> & RateLimits;

/** Billing data in the order of its columns. */
const BILLING = [
  'legalName',
  'billingAddress',
  'taxId',
  'billingEmail',
] as const satisfies readonly (keyof BillingData)[];

/** Commits the organization and its opening credit together. */
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
  return read(pool, LIST, []);
}

/** Newest first. */
export async function searchOrganizations(
  pool: pg.Pool,
  { search, beforeId, limit }: OrganizationQuery,
): Promise<readonly OrganizationRecord[]> {
  return read(pool, SEARCH, [search ?? null, beforeId ?? null, limit]);
}

/** Returns those of these organizations that exist, newest first. */
export async function organizationsById(pool: pg.Pool, ids: readonly string[]): Promise<readonly OrganizationRecord[]> {
  return read(pool, BY_ID, [ids]);
}

export async function findOrganization(on: Connection, id: string): Promise<OrganizationRecord | undefined> {
  return (await read(on, SHOW, [id]))[0];
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

/** Suspends or resumes. Suspending again keeps the first time. */
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

/** Runs `change` while the organization is locked. Returns the organization after the change. */
async function onLocked(
  pool: pg.Pool,
  id: string,
  change: (client: pg.PoolClient, before: OrganizationRecord) => Promise<void>,
): Promise<OrganizationRecord | undefined> {
  return inTransaction(pool, 'begin', async (client) => {
    const [before] = await read(client, LOCK, [id]);
    if (!before) return undefined;
    await change(client, before);
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

function valuesOf(id: string, { limits, maxTokens, priceList, ...settings }: OrganizationSettings) {
  const { name, allowMultipleCompletions, concurrency, ...billing } = settings;
  const { requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd } = limits;
  const bounds = [requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd, maxTokens, priceList];
  const optional = [...bounds, ...BILLING.map((field) => billing[field])];
  return [id, name, allowMultipleCompletions, concurrency, ...optional.map((value) => value ?? null)];
}

function fieldsOf({ limits, ...settings }: OrganizationSettings) {
  const { name, allowMultipleCompletions, concurrency, maxTokens, priceList } = settings;
  const { legalName, billingAddress, taxId, billingEmail } = settings;
  const billing = { legalName, billingAddress, taxId, billingEmail };
  return { name, allowMultipleCompletions, concurrency, maxTokens, priceList, ...limits, ...billing };
}

function subjectOf(id: string, name: string) {
  return { organizationId: id, subjectId: id, subjectName: name };
}

async function read(on: Connection, statement: Statement, values: unknown[]): Promise<OrganizationRecord[]> {
  const rows = await records<OrganizationRow>(on, statement, values, ['balanceNanoUsd', 'dailyBudgetNanoUsd']);
  return rows.map(withLimits);
}
