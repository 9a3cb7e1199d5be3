import type pg from 'pg';
import type { KeyLimits, RateLimits } from '#core/principal.ts';
import type { Actor } from '../audit/audit.ts';
import { type AuditFields, changesBetween } from '../audit/audit-changes.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { type Connection, inTransaction, records, run, type Statement, sql } from '../connection/connection-pool.ts';
import { nearestMilliseconds } from '../connection/milliseconds.ts';
import type { OrganizationRecord } from '../organizations/organization-records.ts';
import { findOrganization } from '../organizations/organization-rows.ts';
import { limitColumns, withLimits } from '../organizations/rate-limits.ts';
import { stillHasRights } from '../organizations/rights.ts';
import { IS_ACTIVE, IS_REVOKED } from './key-lookup.ts';
import type { AboveOrganization, CreateKeyResult, KeyRecord, KeySettings, NewKey } from './key-records.ts';

/** Columns of `keys k`. */
export const KEY_COLUMNS = `k.id, k.organization_id as "organizationId", k.name, k.note, k.last4, k.scopes, k.models, k.ip_ranges as "ipRanges",
  ${limitColumns('k')}, k.monthly_budget_nano_usd as "monthlyBudgetNanoUsd", k.lifetime_budget_nano_usd as "lifetimeBudgetNanoUsd",
  ${nearestMilliseconds('k.expires_at')} as "expiresAtMs", ${nearestMilliseconds('k.revoked_at')} as "revokedAtMs",
  coalesce(${IS_REVOKED}, false) as revoked, ${nearestMilliseconds('k.created_at')} as "createdAtMs", k.created_by as "createdBy"`;

const LIST = sql('list_keys')`
  select ${KEY_COLUMNS} from keys k where k.organization_id = $1 and not k.playground order by k.created_at, k.id`;
const SHOW = sql('show_key')`
  select ${KEY_COLUMNS} from keys k where k.id = $1 and k.organization_id = coalesce($2, k.organization_id)`;
/** Locks the organization, so that the compared limits are in force until the commit. */
const LOCK_ORGANIZATION = sql('lock_organization')`select from organizations where id = $1 for share`;
const INSERT = sql('insert_key')`
  insert into keys as k
      (id, name, scopes, models, ip_ranges, expires_at, rpm, tpm, daily_budget_nano_usd, monthly_budget_nano_usd, lifetime_budget_nano_usd,
        note, organization_id, hash, last4, created_by, playground)
    values ($1, $2, $3, $4, $5, to_timestamp($6::double precision / 1000), $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) returning ${KEY_COLUMNS}`;

type KeyRow = Omit<KeyRecord, 'limits'> & KeyLimits;

/** Runs a statement that returns KEY_COLUMNS, `More` columns, and `amounts` among those. */
export async function readKeys<More extends object = object>(
  on: Connection,
  statement: Statement,
  values: unknown[],
  amounts: readonly (keyof More & string)[] = [],
): Promise<(KeyRecord & More)[]> {
  const budgets = ['dailyBudgetNanoUsd', 'monthlyBudgetNanoUsd', 'lifetimeBudgetNanoUsd'] as const;
  return (await records<KeyRow & More>(on, statement, values, [...budgets, ...amounts])).map(withLimits) as (KeyRecord &
    More)[];
}

/** Runs a statement that inserts a key, or changes a locked one. */
export async function readKey(client: pg.PoolClient, statement: Statement, values: unknown[]): Promise<KeyRecord> {
  const [key] = await readKeys(client, statement, values);
  if (!key) throw new Error(`${statement.name} gave no key`);
  return key;
}

/** Values of a key's settings, in the order of insert and update after the id. */
export function settingValues({ name, scopes, models, ipRanges, expiresAtMs, limits, note }: KeySettings) {
  const { requestsPerMinute: rpm, tokensPerMinute: tpm, dailyBudgetNanoUsd: daily } = limits;
  const { monthlyBudgetNanoUsd: monthly, lifetimeBudgetNanoUsd: lifetime } = limits;
  const optional = [models, ipRanges, expiresAtMs, rpm, tpm, daily, monthly, lifetime, note];
  return [name, scopes, ...optional.map((value) => value ?? null)];
}

/** Creates a key. The user, if any, is stored as `createdBy`. */
export async function createKey(pool: pg.Pool, key: NewKey, by: Actor): Promise<CreateKeyResult> {
  return inTransaction(pool, 'begin', async (client): Promise<CreateKeyResult> => {
    const organization = await lockOrganization(client, key.organizationId);
    if (!organization || !(await stillHasRights(client, key.organizationId, by)))
      return { kind: 'unknown_organization' };
    const above = limitAbove(key.limits, organization);
    return above ?? { kind: 'created', key: await insertKey(client, key, by) };
  });
}

/** Locks an organization, so that its limits stay the same until the transaction ends. */
export async function lockOrganization(client: pg.PoolClient, id: string): Promise<OrganizationRecord | undefined> {
  await run(client, LOCK_ORGANIZATION, [id]);
  return findOrganization(client, id);
}

/** Inserts a key. `origin`: further fields for the audit log. */
export async function insertKey(
  client: pg.PoolClient,
  key: NewKey,
  by: Actor,
  origin: AuditFields = {},
): Promise<KeyRecord> {
  const { id, organizationId, hash, last4, playground = false } = key;
  const values = [id, ...settingValues(key), organizationId, hash, last4, by.userId ?? null, playground];
  const created = await readKey(client, INSERT, values);
  const changes = changesBetween({}, { ...keyFields(key), ...origin });
  await addAuditEvent(client, { action: 'key.created', ...keySubject(key), changes }, by);
  return created;
}

/** Returns keys without playground keys, oldest first. */
export async function listKeys(pool: pg.Pool, organizationId: string): Promise<readonly KeyRecord[] | undefined> {
  const keys = await readKeys(pool, LIST, [organizationId]);
  return keys.length > 0 || (await findOrganization(pool, organizationId)) ? keys : undefined;
}

/** Without an organization, finds the key of any. */
export async function findKey(
  pool: pg.Pool,
  organizationId: string | undefined,
  id: string,
): Promise<KeyRecord | undefined> {
  return (await readKeys(pool, SHOW, [id, organizationId ?? null]))[0];
}

export function limitAbove(ofKey: RateLimits, { limits }: OrganizationRecord): AboveOrganization | undefined {
  for (const limit of ['requestsPerMinute', 'tokensPerMinute', 'dailyBudgetNanoUsd'] as const) {
    const wanted = ofKey[limit];
    const organizationLimit = limits[limit];
    if (wanted !== undefined && organizationLimit !== undefined && wanted > organizationLimit) {
      return { kind: 'above_organization', limit, organizationLimit };
    }
  }
  return undefined;
}

export function keyFields({ name, note, scopes, models, ipRanges, expiresAtMs, limits }: KeySettings) {
  return { name, note, scopes, models, ipRanges, expiresAtMs, ...limits } satisfies AuditFields;
}

export function keySubject({ id, organizationId, name }: Pick<KeyRecord, 'id' | 'organizationId' | 'name'>) {
  return { organizationId, subjectId: id, subjectName: name };
}

/** Numbers of keys by which creating more is limited. Playground keys do not count. */
export interface KeyCounts {
  /** Keys that are neither revoked nor expired. */
  readonly usable: number;
  /** Keys created in the last 24 hours, including revoked ones. */
  readonly madeWithinDay: number;
}

const COUNT = sql('key_counts')`
  select
      (select count(*)::integer from keys k
        where k.organization_id = $1 and not k.playground and ${IS_ACTIVE}) as usable,
      (select count(*)::integer from keys k
        where k.organization_id = $1 and not k.playground and k.created_at > now() - interval '1 day') as "madeWithinDay"`;

export async function countKeys(pool: pg.Pool, organizationId: string): Promise<KeyCounts> {
  const [counts] = await run<KeyCounts>(pool, COUNT, [organizationId]);
  if (counts === undefined) throw new Error('a select without from gave no row');
  return counts;
}
