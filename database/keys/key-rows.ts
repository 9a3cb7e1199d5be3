import type pg from 'pg';
import type { RateLimits } from '#core/principal.ts';
import type { Actor } from '../audit/audit.ts';
import { type AuditFields, changesBetween } from '../audit/audit-changes.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import {
  type Connection,
  inTransaction,
  only,
  records,
  run,
  type Statement,
  sql,
} from '../connection/connection-pool.ts';
import { nearestMilliseconds } from '../connection/milliseconds.ts';
import type { OrganizationRecord } from '../organizations/organization-records.ts';
import { findOrganization } from '../organizations/organization-rows.ts';
import { stillHasRights } from '../organizations/rights.ts';
import {
  amountsOf,
  KEY_LIMIT_COLUMNS,
  readSettings,
  type SettingColumns,
  settingsOf,
  valuesOf,
  writeSettings,
} from '../organizations/setting-columns.ts';
import { IS_ACTIVE, IS_REVOKED } from './key-lookup.ts';
import type { AboveOrganization, CreateKeyResult, KeyRecord, KeyRestrictions, NewKey } from './key-records.ts';

export const KEY_SETTING_COLUMNS: SettingColumns<KeyRestrictions> = {
  name: ['name', 'plain'],
  note: ['note', 'plain'],
  scopes: ['scopes', 'plain'],
  models: ['models', 'plain'],
  ipRanges: ['ip_ranges', 'plain'],
  expiresAtMs: ['expires_at', 'moment'],
  ...KEY_LIMIT_COLUMNS,
};

export const KEY_COLUMNS = `k.id, k.organization_id as "organizationId", k.last4, ${readSettings(KEY_SETTING_COLUMNS, 'k')},
  ${nearestMilliseconds('k.revoked_at')} as "revokedAtMs",
  coalesce(${IS_REVOKED}, false) as revoked, ${nearestMilliseconds('k.created_at')} as "createdAtMs", k.created_by as "createdBy"`;

const LIST = sql('list_keys')`
  select ${KEY_COLUMNS} from keys k where k.organization_id = $1 and not k.playground order by k.created_at, k.id`;
const SHOW = sql('show_key')`
  select ${KEY_COLUMNS} from keys k where k.id = $1 and k.organization_id = coalesce($2, k.organization_id)`;
/** Locks the organization, so that the compared limits are in force until the commit. */
const LOCK_ORGANIZATION = sql('lock_organization')`select from organizations where id = $1 for share`;
const WRITTEN = writeSettings(KEY_SETTING_COLUMNS, 7);
const INSERT = sql('insert_key')`
  insert into keys as k (id, organization_id, hash, last4, created_by, playground, ${WRITTEN.columns})
    values ($1, $2, $3, $4, $5, $6, ${WRITTEN.parameters}) returning ${KEY_COLUMNS}`;

/** Runs a statement that returns KEY_COLUMNS, `More` columns, and `amounts` among those. */
export async function readKeys<More extends object = object>(
  on: Connection,
  statement: Statement,
  values: unknown[],
  amounts: readonly (keyof More & string)[] = [],
): Promise<(KeyRecord & More)[]> {
  return records<KeyRecord & More>(on, statement, values, [...amountsOf(KEY_SETTING_COLUMNS), ...amounts]);
}

/** Runs a statement that inserts a key, or changes a locked one. */
export async function readKey(client: pg.PoolClient, statement: Statement, values: unknown[]): Promise<KeyRecord> {
  const [key] = await readKeys(client, statement, values);
  if (!key) throw new Error(`${statement.name} gave no key`);
  return key;
}

/** Creates a key. The user, if any, is stored as `createdBy`. */
export async function createKey(pool: pg.Pool, key: NewKey, by: Actor): Promise<CreateKeyResult> {
  return inTransaction(pool, 'begin', async (client): Promise<CreateKeyResult> => {
    const organization = await lockOrganization(client, key.organizationId);
    if (!organization || !(await stillHasRights(client, key.organizationId, by)))
      return { kind: 'unknown_organization' };
    const above = limitAbove(key, organization);
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
  const identity = [id, organizationId, hash, last4, by.userId ?? null, playground];
  const created = await readKey(client, INSERT, [...identity, ...valuesOf(KEY_SETTING_COLUMNS, key)]);
  const changes = changesBetween({}, { ...settingsOf(KEY_SETTING_COLUMNS, key), ...origin });
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

export function limitAbove(ofKey: RateLimits, organization: RateLimits): AboveOrganization | undefined {
  for (const limit of ['requestsPerMinute', 'tokensPerMinute', 'dailyBudgetNanoUsd'] as const) {
    const wanted = ofKey[limit];
    const organizationLimit = organization[limit];
    if (wanted !== undefined && organizationLimit !== undefined && wanted > organizationLimit) {
      return { kind: 'above_organization', limit, organizationLimit };
    }
  }
  return undefined;
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
  return only(pool, COUNT, [organizationId]);
}
