import type pg from 'pg';
import type { Scope } from '../../domain/principal.ts';
import type { CreateKeyResult, KeyRecord, NewKey, OrganizationRecord } from '../administration.ts';
import { inTransaction, run, type Statement } from './connection-pool.ts';
import { limitsOf } from './key-lookup.ts';
import { findOrganization } from './organization-rows.ts';

const COLUMNS = `id, organization_id, name, last4, scopes, models, ip_ranges, rpm, tpm, daily_budget_nano_usd,
  (extract(epoch from expires_at) * 1000)::bigint as expires_ms, (extract(epoch from revoked_at) * 1000)::bigint as revoked_ms,
  (extract(epoch from created_at) * 1000)::bigint as created_ms`;

const LIST: Statement = {
  name: 'list_keys',
  text: `select ${COLUMNS} from keys where organization_id = $1 order by created_at, id`,
};
const REVOKE: Statement = {
  name: 'revoke_key',
  text: `update keys set revoked_at = coalesce(revoked_at, now()) where id = $1 returning ${COLUMNS}`,
};
/** So that the limits compared with are still the organization's when the key appears. */
const LOCK_ORGANIZATION: Statement = {
  name: 'lock_organization',
  text: 'select from organizations where id = $1 for share',
};
const INSERT: Statement = {
  name: 'insert_key',
  text: `insert into keys (id, organization_id, name, hash, last4, scopes, models, ip_ranges, rpm, tpm, daily_budget_nano_usd, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) returning ${COLUMNS}`,
};

interface KeyColumns {
  readonly id: string;
  readonly organization_id: string;
  readonly name: string;
  readonly last4: string;
  readonly scopes: Scope[];
  readonly models: string[] | null;
  readonly ip_ranges: string[] | null;
  readonly rpm: string | null;
  readonly tpm: string | null;
  readonly daily_budget_nano_usd: string | null;
  readonly expires_ms: string | null;
  readonly revoked_ms: string | null;
  readonly created_ms: string;
}

export async function createKey(pool: pg.Pool, key: NewKey): Promise<CreateKeyResult> {
  return inTransaction(pool, 'begin', async (client): Promise<CreateKeyResult> => {
    await run(client, LOCK_ORGANIZATION, [key.organizationId]);
    const organization = await findOrganization(client, key.organizationId);
    if (!organization) return { kind: 'unknown_organization' };
    const above = limitAbove(key, organization);
    if (above) return above;
    const [row] = await run<KeyColumns>(client, INSERT, [
      key.id,
      key.organizationId,
      key.name,
      key.hash,
      key.last4,
      key.scopes,
      key.models ?? null,
      key.ipRanges ?? null,
      key.limits.requestsPerMinute ?? null,
      key.limits.tokensPerMinute ?? null,
      key.limits.dailyBudgetNanoUsd ?? null,
      key.expiresAtMs === undefined ? null : new Date(key.expiresAtMs).toISOString(),
    ]);
    if (!row) throw new Error('an inserted key did not come back');
    return { kind: 'created', key: recordOf(row) };
  });
}

export async function listKeys(pool: pg.Pool, organizationId: string): Promise<readonly KeyRecord[] | undefined> {
  const rows = await run<KeyColumns>(pool, LIST, [organizationId]);
  if (rows.length === 0 && !(await findOrganization(pool, organizationId))) return undefined;
  return rows.map(recordOf);
}

export async function revokeKey(pool: pg.Pool, id: string): Promise<KeyRecord | undefined> {
  const [row] = await run<KeyColumns>(pool, REVOKE, [id]);
  return row && recordOf(row);
}

function limitAbove(key: NewKey, organization: OrganizationRecord): CreateKeyResult | undefined {
  for (const limit of ['requestsPerMinute', 'tokensPerMinute', 'dailyBudgetNanoUsd'] as const) {
    const ofKey = key.limits[limit];
    const ofOrganization = organization.limits[limit];
    if (ofKey !== undefined && ofOrganization !== undefined && ofKey > ofOrganization) {
      return { kind: 'above_organization', limit, organizationLimit: ofOrganization };
    }
  }
  return undefined;
}

function recordOf(row: KeyColumns): KeyRecord {
  return {
    id: row.id,
    organizationId: row.organization_id,
    name: row.name,
    last4: row.last4,
    scopes: row.scopes,
    ...(row.models === null ? {} : { models: row.models }),
    ...(row.ip_ranges === null ? {} : { ipRanges: row.ip_ranges }),
    ...(row.expires_ms === null ? {} : { expiresAtMs: Number(row.expires_ms) }),
    ...(row.revoked_ms === null ? {} : { revokedAtMs: Number(row.revoked_ms) }),
    limits: limitsOf(row.rpm, row.tpm, row.daily_budget_nano_usd),
    createdAtMs: Number(row.created_ms),
  };
}
