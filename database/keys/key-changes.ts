import type pg from 'pg';
import { changed } from '#contract/setting.ts';
import type { Actor } from '../audit/audit.ts';
import { changesBetween, isEmpty } from '../audit/audit-changes.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { inTransaction, sql } from '../connection/connection-pool.ts';
import { stillHasRights } from '../organizations/rights.ts';
import { settingsOf, valuesOf, writeSettings } from '../organizations/setting-columns.ts';
import type { KeyChange, KeyReplacement, ReplaceKeyResult, UpdateKeyResult } from './key-records.ts';
import {
  insertKey,
  KEY_COLUMNS,
  KEY_SETTING_COLUMNS,
  keySubject,
  limitAbove,
  lockOrganization,
  readKey,
  readKeys,
} from './key-rows.ts';

/**
 * Locks the key. Every change locks in the same order: the organization and creator if needed, then
 * the key. Playground keys are not found, because a change would lift their restrictions.
 */
const LOCK = sql('lock_key')`
  select ${KEY_COLUMNS}, coalesce(k.expires_at <= now(), false) as expired
    from keys k where k.id = $1 and k.organization_id = coalesce($2, k.organization_id) and not k.playground
    for no key update`;
const WRITTEN = writeSettings(KEY_SETTING_COLUMNS, 2);
const UPDATE = sql('update_key')`
  update keys k set (${WRITTEN.columns}) = row (${WRITTEN.parameters}) where k.id = $1 returning ${KEY_COLUMNS}`;
const REVOKE = sql('revoke_key')`
  update keys k
    set revoked_at = greatest(now(), to_timestamp($2::double precision / 1000)), revocation_decided_at = now()
    where k.id = $1 returning ${KEY_COLUMNS}`;

export async function updateKey(
  pool: pg.Pool,
  organizationId: string,
  id: string,
  change: KeyChange,
  by: Actor,
): Promise<UpdateKeyResult> {
  return inTransaction(pool, 'begin', async (client): Promise<UpdateKeyResult> => {
    const organization = await lockOrganization(client, organizationId);
    if (!organization || !(await stillHasRights(client, organizationId, by))) return { kind: 'unknown_key' };
    const { key: former } = (await lockKey(client, id, organizationId)) ?? {};
    if (!former) return { kind: 'unknown_key' };
    if (former.revoked) return { kind: 'revoked', key: former };
    const before = settingsOf(KEY_SETTING_COLUMNS, former);
    const after = changed(before, change);
    const changes = changesBetween(before, after);
    if (isEmpty(changes)) return { kind: 'updated', key: former };
    const changedSettings = Object.fromEntries(Object.entries(after).filter(([name]) => name in changes));
    const above = limitAbove(changedSettings, organization);
    if (above) return above;
    const key = await readKey(client, UPDATE, [id, ...valuesOf(KEY_SETTING_COLUMNS, after)]);
    await addAuditEvent(client, { action: 'key.updated', ...keySubject(key), changes }, by);
    return { kind: 'updated', key };
  });
}

/** Creates a key with the settings of the old one, which is revoked immediately or later. */
export async function replaceKey(
  pool: pg.Pool,
  organizationId: string,
  id: string,
  { oldRevokedAtMs, expiresAtMs, ...identity }: KeyReplacement,
  by: Actor,
): Promise<ReplaceKeyResult> {
  return inTransaction(pool, 'begin', async (client): Promise<ReplaceKeyResult> => {
    const organization = await lockOrganization(client, organizationId);
    if (!organization || !(await stillHasRights(client, organizationId, by))) return { kind: 'unknown_key' };
    const before = await lockKey(client, id, organizationId);
    if (!before) return { kind: 'unknown_key' };
    const { key: former, expired } = before;
    if (former.revokedAtMs !== undefined) return { kind: 'revoked', key: former };
    if (expired) return { kind: 'expired', key: former };
    const change = expiresAtMs === undefined ? {} : { expiresAtMs };
    const settings = changed(settingsOf(KEY_SETTING_COLUMNS, former), change);
    const key = await insertKey(client, { organizationId, ...settings, ...identity }, by, { replaces: id });
    const old = await readKey(client, REVOKE, [id, oldRevokedAtMs ?? null]);
    const changes = changesBetween(
      { revokedAtMs: former.revokedAtMs },
      { revokedAtMs: old.revokedAtMs, replacedBy: key.id },
    );
    await addAuditEvent(client, { action: 'key.replaced', ...keySubject(old), changes }, by);
    return { kind: 'replaced', key, old };
  });
}

/** Locks the key's row until the transaction ends. */
export async function lockKey(client: pg.PoolClient, id: string, organizationId: string | undefined) {
  const [locked] = await readKeys<{ readonly expired: boolean }>(client, LOCK, [id, organizationId ?? null]);
  if (locked === undefined) return undefined;
  const { expired, ...key } = locked;
  return { key, expired };
}
