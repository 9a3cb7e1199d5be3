import { KEY_SETTINGS } from '#contract/shown-settings.ts';
import { csvLines } from '#core/csv-lines.ts';
import { newKeySecret } from '#core/key-secret.ts';
import { keyStateAt } from '#core/key-state.ts';
import { present } from '#core/present.ts';
import type { Actor } from '#database/audit/audit.ts';
import type { CreateKeyResult, KeyRecord, KeySettings } from '#database/keys/key-records.ts';
import { createKey } from '#database/keys/key-rows.ts';
import { KEY_CSV_COLUMNS, readKeyTable } from '#database/keys/key-table.ts';
import type { Pool } from '../command-line/database.ts';
import { settingLines, settingsJson } from '../command-line/setting-flags.ts';

export interface CreatedKey {
  readonly kind: 'created';
  /** The complete key, which is shown only once. */
  readonly secret: string;
  readonly key: KeyRecord;
}

export type CreateKeyOutcome = CreatedKey | Exclude<CreateKeyResult, { kind: 'created' }>;

export async function createKeyWithSecret(pool: Pool, settings: KeySettings, by: Actor): Promise<CreateKeyOutcome> {
  const { secret, identity } = newKeySecret(Date.now());
  const result = await createKey(pool, { ...settings, ...identity }, by);
  return result.kind === 'created' ? { ...result, secret } : result;
}

/** JSON of a key. Absent restrictions are null, amounts are USD. */
export function keyJson(key: KeyRecord, nowMs: number) {
  return {
    id: key.id,
    org_id: key.organizationId,
    name: key.name,
    note: key.note ?? null,
    last4: key.last4,
    state: keyStateAt(key, nowMs),
    scopes: key.scopes,
    models: key.models ?? null,
    ips: key.ipRanges ?? null,
    ...settingsJson(KEY_SETTINGS, key),
    expires_at: isoOrNull(key.expiresAtMs),
    revoked_at: isoOrNull(key.revokedAtMs),
    created_at: new Date(key.createdAtMs).toISOString(),
  };
}

/** Labels and values for people to read. */
export function keyLines(key: KeyRecord, nowMs: number): readonly (readonly [string, string])[] {
  return [
    ['id', key.id],
    ['name', key.name],
    ['note', key.note ?? ''],
    ['organization', key.organizationId],
    ['state', keyStateAt(key, nowMs)],
    ['scopes', key.scopes.join(', ')],
    ['models', key.models?.join(', ') ?? 'all'],
    ['addresses', key.ipRanges?.join(', ') ?? 'all'],
    ...settingLines(KEY_SETTINGS, key),
    ['expires', isoOrNull(key.expiresAtMs) ?? 'never'],
    ['revoked', isoOrNull(key.revokedAtMs) ?? 'no'],
    ['created', new Date(key.createdAtMs).toISOString()],
  ];
}

/** The same table that the dashboard exports, newest key first. */
export async function keysCsv(pool: Pool, organizationId: string, nowMs: number): Promise<string> {
  const steps = csvLines(KEY_CSV_COLUMNS, (before: string | undefined, limit) =>
    readKeyTable(pool, { organizationId, ...present({ before }), limit }, nowMs),
  );
  let text = '';
  for await (const lines of steps) text += lines;
  return text.trimEnd();
}

function isoOrNull(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
