import type pg from 'pg';
import type { Actor } from '../audit/audit.ts';
import { changesBetween } from '../audit/audit-changes.ts';
import { addAuditEvents } from '../audit/audit-log.ts';
import { inTransaction, sql } from '../connection/connection-pool.ts';
import type { KeyRecord } from './key-records.ts';
import { KEY_COLUMNS, keySubject, readKeys } from './key-rows.ts';

export interface Revocation {
  readonly ids: readonly string[];
  /** Keys of other organizations count as unknown. Absent: keys of any organization. */
  readonly organizationId?: string;
  /** If one key is not allowed, none is revoked. Absent: every key is allowed. */
  readonly allows?: (key: KeyRecord) => boolean;
}

export type RevokeKeysResult =
  /** All keys in the order of `ids`, including those revoked before. */
  | { readonly kind: 'revoked'; readonly keys: readonly KeyRecord[]; readonly newlyRevoked: number }
  | { readonly kind: 'unknown_key'; readonly id: string }
  | { readonly kind: 'not_allowed'; readonly key: KeyRecord };

/** Locks keys in one order, so that two such changes cannot deadlock. */
const LOCK = sql('lock_keys')`
  select ${KEY_COLUMNS} from keys k
    where k.id = any ($1) and k.organization_id = coalesce($2, k.organization_id) order by k.id for no key update`;
const REVOKE = sql('revoke_keys')`
  update keys k set revoked_at = now(), revocation_decided_at = now() where k.id = any ($1) returning ${KEY_COLUMNS}`;

/** Revokes all keys or none. Writes an audit event for each that was not revoked before. */
export async function revokeKeys(pool: pg.Pool, revocation: Revocation, by: Actor): Promise<RevokeKeysResult> {
  return inTransaction(pool, 'begin', (client) => revokeHere(client, revocation, by));
}

/** Revokes one key, of the given organization, if any. Revoking again keeps the first time. */
export async function revokeKey(
  pool: pg.Pool,
  id: string,
  by: Actor,
  organizationId?: string,
): Promise<KeyRecord | undefined> {
  const here = organizationId === undefined ? {} : { organizationId };
  const result = await revokeKeys(pool, { ids: [id], ...here }, by);
  return result.kind === 'revoked' ? result.keys[0] : undefined;
}

/** Revokes keys within the caller's transaction. */
export async function revokeHere(
  client: pg.PoolClient,
  { ids, organizationId, allows = () => true }: Revocation,
  by: Actor,
): Promise<RevokeKeysResult> {
  const locked = await readKeys(client, LOCK, [ids, organizationId ?? null]);
  const known = new Map(locked.map((key) => [key.id, key]));
  const unknown = ids.find((id) => !known.has(id));
  if (unknown !== undefined) return { kind: 'unknown_key', id: unknown };
  const forbidden = locked.find((key) => !allows(key));
  if (forbidden) return { kind: 'not_allowed', key: forbidden };
  const before = locked.filter(({ revoked }) => !revoked);
  if (before.length > 0) {
    for (const key of await readKeys(client, REVOKE, [before.map(({ id }) => id)])) known.set(key.id, key);
    const events = before.map((key) => {
      const revokedAtMs = known.get(key.id)?.revokedAtMs;
      const changes = changesBetween({ revokedAtMs: key.revokedAtMs }, { revokedAtMs });
      return { action: 'key.revoked', ...keySubject(key), changes } as const;
    });
    await addAuditEvents(client, events, by);
  }
  return { kind: 'revoked', keys: ids.flatMap((id) => known.get(id) ?? []), newlyRevoked: before.length };
}
