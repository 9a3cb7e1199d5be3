import { z } from 'zod';
import { present } from '../../../core/present.ts';
import { SCOPES } from '../../../core/principal.ts';
import type { KeySettings, KeyChange as StoredKeyChange } from '../../../database/keys/key-records.ts';
import type { KeyChange, KeyRestrictions } from '../../contract/keys.ts';
import {
  budgetNanoUsd,
  ipRanges,
  modelIds,
  momentMs,
  name,
  requestsPerMinute,
  tokensPerMinute,
  wholeNumber,
} from './input-fields.ts';
import { storedLimits } from './limits.ts';

/** Thirty days. A longer overlap defeats the purpose of a replacement. */
const MAX_OVERLAP_HOURS = 720;

const scopes = z
  .array(z.enum(SCOPES, { error: `A key can have ${SCOPES.join(' and ')}.` }), { error: 'This must be a list.' })
  .min(1, { error: 'Choose at least one.' })
  .max(SCOPES.length, { error: 'There are not so many.' })
  .transform((chosen) => SCOPES.filter((scope) => chosen.includes(scope)));

export const keyRestrictions: z.ZodType<KeyRestrictions> = z.strictObject({
  name,
  scopes,
  models: modelIds.exactOptional(),
  ipRanges: ipRanges.exactOptional(),
  expiresAtMs: momentMs.exactOptional(),
  requestsPerMinute: requestsPerMinute.exactOptional(),
  tokensPerMinute: tokensPerMinute.exactOptional(),
  dailyBudgetNanoUsd: budgetNanoUsd.exactOptional(),
});

export const keyChange: z.ZodType<KeyChange> = z.strictObject({
  name: name.exactOptional(),
  scopes: scopes.exactOptional(),
  models: modelIds.nullable().exactOptional(),
  ipRanges: ipRanges.nullable().exactOptional(),
  expiresAtMs: momentMs.nullable().exactOptional(),
  requestsPerMinute: requestsPerMinute.nullable().exactOptional(),
  tokensPerMinute: tokensPerMinute.nullable().exactOptional(),
  dailyBudgetNanoUsd: budgetNanoUsd.nullable().exactOptional(),
});

export const keyReplacement = z.strictObject({ revokeOldAfterHours: wholeNumber(0, MAX_OVERLAP_HOURS) });

export function storedChange({ dailyBudgetNanoUsd, ...rest }: KeyChange): StoredKeyChange {
  if (dailyBudgetNanoUsd === undefined) return rest;
  return { ...rest, dailyBudgetNanoUsd: dailyBudgetNanoUsd === null ? null : BigInt(dailyBudgetNanoUsd) };
}

export function storedSettings(organizationId: string, restrictions: KeyRestrictions): KeySettings {
  const { name, scopes, models, ipRanges, expiresAtMs } = restrictions;
  return {
    organizationId,
    name,
    scopes,
    ...present({ models, ipRanges, expiresAtMs }),
    limits: storedLimits(restrictions),
  };
}
