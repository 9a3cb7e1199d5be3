import { z } from 'zod';
import type { KeyChange, KeyRestrictions } from '#contract/keys.ts';
import type { NanoUsd } from '#core/money.ts';
import { present } from '#core/present.ts';
import { SCOPES } from '#core/principal.ts';
import type { KeySettings, KeyChange as StoredKeyChange } from '#database/keys/key-records.ts';
import { MOST_REVOKED_AT_ONCE } from '#database/keys/revoke-keys.ts';
import {
  budgetNanoUsd,
  idOf,
  ipRanges,
  modelIds,
  momentMs,
  name,
  note,
  requestsPerMinute,
  tokensPerMinute,
  wholeNumber,
} from './input-fields.ts';
import { storedKeyLimits } from './limits.ts';

/** Thirty days. A longer overlap defeats the purpose of a replacement. */
const MAX_OVERLAP_HOURS = 720;

const scopes = z
  .array(z.enum(SCOPES, { error: `A key can have ${SCOPES.join(' and ')}.` }), { error: 'This must be a list.' })
  .min(1, { error: 'Choose at least one.' })
  .max(SCOPES.length, { error: 'There are not so many.' })
  .transform((chosen) => SCOPES.filter((scope) => chosen.includes(scope)));

export const keyRestrictions: z.ZodType<KeyRestrictions> = z.strictObject({
  name,
  note: note.exactOptional(),
  scopes,
  models: modelIds.exactOptional(),
  ipRanges: ipRanges.exactOptional(),
  expiresAtMs: momentMs.exactOptional(),
  requestsPerMinute: requestsPerMinute.exactOptional(),
  tokensPerMinute: tokensPerMinute.exactOptional(),
  dailyBudgetNanoUsd: budgetNanoUsd.exactOptional(),
  monthlyBudgetNanoUsd: budgetNanoUsd.exactOptional(),
  lifetimeBudgetNanoUsd: budgetNanoUsd.exactOptional(),
});

export const keyChange: z.ZodType<KeyChange> = z.strictObject({
  name: name.exactOptional(),
  note: note.nullable().exactOptional(),
  scopes: scopes.exactOptional(),
  models: modelIds.nullable().exactOptional(),
  ipRanges: ipRanges.nullable().exactOptional(),
  expiresAtMs: momentMs.nullable().exactOptional(),
  requestsPerMinute: requestsPerMinute.nullable().exactOptional(),
  tokensPerMinute: tokensPerMinute.nullable().exactOptional(),
  dailyBudgetNanoUsd: budgetNanoUsd.nullable().exactOptional(),
  monthlyBudgetNanoUsd: budgetNanoUsd.nullable().exactOptional(),
  lifetimeBudgetNanoUsd: budgetNanoUsd.nullable().exactOptional(),
});

export const keyReplacement: z.ZodType<{ revokeOldAfterHours: number; expiresAtMs?: number | null }> = z.strictObject({
  revokeOldAfterHours: wholeNumber(0, MAX_OVERLAP_HOURS),
  expiresAtMs: momentMs.nullable().exactOptional(),
});

export const severalKeys: z.ZodType<{ keys: readonly string[] }> = z.strictObject({
  keys: z
    .array(idOf('key'), { error: 'This must be a list of key ids.' })
    .min(1, { error: 'Choose at least one.' })
    .max(MOST_REVOKED_AT_ONCE, { error: `At most ${MOST_REVOKED_AT_ONCE} keys at once.` })
    .transform((ids) => [...new Set(ids)]),
});

export function storedChange(change: KeyChange): StoredKeyChange {
  const { dailyBudgetNanoUsd, monthlyBudgetNanoUsd, lifetimeBudgetNanoUsd, ...rest } = change;
  const budgets = present({
    dailyBudgetNanoUsd: amountOrNull(dailyBudgetNanoUsd),
    monthlyBudgetNanoUsd: amountOrNull(monthlyBudgetNanoUsd),
    lifetimeBudgetNanoUsd: amountOrNull(lifetimeBudgetNanoUsd),
  });
  return { ...rest, ...budgets };
}

function amountOrNull(text: string | null | undefined): NanoUsd | null | undefined {
  return typeof text === 'string' ? BigInt(text) : text;
}

export function storedSettings(organizationId: string, restrictions: KeyRestrictions): KeySettings {
  const { name, note, scopes, models, ipRanges, expiresAtMs } = restrictions;
  return {
    organizationId,
    name,
    scopes,
    ...present({ note, models, ipRanges, expiresAtMs }),
    limits: storedKeyLimits(restrictions),
  };
}
