import type pg from 'pg';
import { changed } from '#contract/setting.ts';
import type { Actor } from '../audit/audit.ts';
import { changesBetween, isEmpty } from '../audit/audit-changes.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { type Connection, inTransaction, records, run, type Statement, sql } from '../connection/connection-pool.ts';
import { nearestMilliseconds } from '../connection/milliseconds.ts';
import { isOutOfRange } from '../connection/unavailable.ts';
import { addCredit, refusalOfReference } from './add-credit.ts';
import type {
  CreateOrganizationResult,
  CreditEntry,
  CreditResult,
  NewOrganization,
  OrganizationChange,
  OrganizationQuery,
  OrganizationRecord,
  OrganizationSettings,
} from './organization-records.ts';
import {
  amountsOf,
  RATE_LIMIT_COLUMNS,
  RULE_COLUMNS,
  readSettings,
  type SettingColumns,
  settingsOf,
  valuesOf,
  writeSettings,
} from './setting-columns.ts';

const SETTINGS: SettingColumns<OrganizationSettings> = {
  name: ['name', 'plain'],
  ...RULE_COLUMNS,
  ...RATE_LIMIT_COLUMNS,
  legalName: ['legal_name', 'plain'],
  billingAddress: ['billing_address', 'plain'],
  taxId: ['tax_id', 'plain'],
  billingEmail: ['billing_email', 'plain'],
};
const WRITTEN = writeSettings(SETTINGS, 2);

const SELECT = `select o.id, ${nearestMilliseconds('o.suspended_at')} as "suspendedAtMs", ${readSettings(SETTINGS, 'o')},
  a.balance_nano_usd as "balanceNanoUsd", ${nearestMilliseconds('o.created_at')} as "createdAtMs"
  from organizations o join accounts a on a.organization_id = o.id`;

const LIST = sql('list_organizations')`${SELECT} order by o.id`;
const SHOW = sql('show_organization')`${SELECT} where o.id = $1`;
const LOCK = sql('lock_organization_for_change')`${SELECT} where o.id = $1 for no key update of o`;
/** Reads a page along the primary key, whose ids sort by time, and compares names on the way. */
const SEARCH = sql('search_organizations')`
  ${SELECT} where ($1::text is null or strpos(lower(o.name), lower($1)) > 0 or o.id = $1) and ($2::text is null or o.id < $2)
    order by o.id desc limit $3`;
const BY_ID = sql('organizations_by_id')`${SELECT} where o.id = any ($1) order by o.id desc`;
const INSERT = sql('insert_organization')`
  insert into organizations (id, ${WRITTEN.columns}) values ($1, ${WRITTEN.parameters})`;
const UPDATE = sql('update_organization')`
  update organizations set (${WRITTEN.columns}) = row (${WRITTEN.parameters}) where id = $1`;
const OPEN_ACCOUNT = sql('open_account')`insert into accounts (organization_id) values ($1)`;
const SUSPEND = sql('set_suspended')`update organizations set suspended_at = case when $2 then now() end where id = $1`;

/** Commits the organization and its opening credit together. */
export async function createOrganization(
  pool: pg.Pool,
  organization: NewOrganization,
  by: Actor,
  openingCredit?: CreditEntry,
): Promise<CreateOrganizationResult> {
  const created = inTransaction(pool, 'begin', async (client): Promise<CreateOrganizationResult> => {
    const { id, name } = organization;
    await run(client, INSERT, [id, ...valuesOf(SETTINGS, organization)]);
    await run(client, OPEN_ACCOUNT, [id]);
    const changes = changesBetween({}, settingsOf(SETTINGS, organization));
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
  return onLocked(pool, id, async (client, organization) => {
    const before = settingsOf(SETTINGS, organization);
    const after = changed(before, change);
    const changes = changesBetween(before, after);
    if (isEmpty(changes)) return;
    await run(client, UPDATE, [id, ...valuesOf(SETTINGS, after)]);
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

export async function creditOrganization(
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

function subjectOf(id: string, name: string) {
  return { organizationId: id, subjectId: id, subjectName: name };
}

async function read(on: Connection, statement: Statement, values: unknown[]): Promise<OrganizationRecord[]> {
  return records<OrganizationRecord>(on, statement, values, ['balanceNanoUsd', ...amountsOf(SETTINGS)]);
}
