import { newKeySecret } from '../../core/key-secret.ts';
import { usdNumber } from '../../core/money.ts';
import type { Administration } from '../../database/administration/administration.ts';
import type { Actor } from '../../database/audit/audit.ts';
import type { CreateKeyResult, KeyRecord, KeySettings } from '../../database/keys/key-records.ts';
import { budgetText, limitText } from './organizations.ts';

export interface CreatedKey {
  readonly kind: 'created';
  /** The complete key, which is shown once. */
  readonly secret: string;
  readonly key: KeyRecord;
}

export type CreateKeyOutcome = CreatedKey | Exclude<CreateKeyResult, { kind: 'created' }>;

export async function createKey(
  administration: Administration,
  settings: KeySettings,
  by: Actor,
): Promise<CreateKeyOutcome> {
  const { secret, identity } = newKeySecret(Date.now());
  const result = await administration.createKey({ ...settings, ...identity }, by);
  return result.kind === 'created' ? { ...result, secret } : result;
}

export type KeyState = 'usable' | 'expired' | 'revoked';

export function keyState(key: KeyRecord, nowMs: number): KeyState {
  if (key.revoked) return 'revoked';
  return key.expiresAtMs !== undefined && key.expiresAtMs <= nowMs ? 'expired' : 'usable';
}

/** JSON of a key: absent restrictions are null, amounts are USD. */
export function keyJson(key: KeyRecord, nowMs: number) {
  const { limits } = key;
  return {
    id: key.id,
    org_id: key.organizationId,
    name: key.name,
    last4: key.last4,
    state: keyState(key, nowMs),
    scopes: key.scopes,
    models: key.models ?? null,
    ips: key.ipRanges ?? null,
    rpm: limits.requestsPerMinute ?? null,
    tpm: limits.tokensPerMinute ?? null,
    daily_budget: limits.dailyBudgetNanoUsd === undefined ? null : usdNumber(limits.dailyBudgetNanoUsd),
    expires_at: isoOrNull(key.expiresAtMs),
    revoked_at: isoOrNull(key.revokedAtMs),
    created_at: new Date(key.createdAtMs).toISOString(),
  };
}

/** Label and value, for people. */
export function keyLines(key: KeyRecord, nowMs: number): readonly (readonly [string, string])[] {
  return [
    ['id', key.id],
    ['name', key.name],
    ['organization', key.organizationId],
    ['state', keyState(key, nowMs)],
    ['scopes', key.scopes.join(', ')],
    ['models', key.models?.join(', ') ?? 'all'],
    ['addresses', key.ipRanges?.join(', ') ?? 'all'],
    ['requests per minute', limitText(key.limits.requestsPerMinute)],
    ['tokens per minute', limitText(key.limits.tokensPerMinute)],
    ['daily budget', budgetText(key.limits.dailyBudgetNanoUsd)],
    ['expires', isoOrNull(key.expiresAtMs) ?? 'never'],
  ];
}

function isoOrNull(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
