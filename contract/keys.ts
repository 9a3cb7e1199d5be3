import { z } from 'zod';
import { MAX_OVERLAP_HOURS, MAX_REVOKED_AT_ONCE } from '#core/field-bounds.ts';
import { SCOPES } from '#core/principal.ts';
import {
  budgetNanoUsd,
  changeOf,
  type Empty,
  idOf,
  ipRanges,
  modelIds,
  momentMs,
  name,
  note,
  requestsPerMinute,
  tokensPerMinute,
  wholeNumber,
} from './fields.ts';

export type ScopeName = (typeof SCOPES)[number];

const scopes = z
  .array(z.enum(SCOPES, { error: `A key can have ${SCOPES.join(' and ')}.` }), { error: 'This must be a list.' })
  .min(1, { error: 'Choose at least one.' })
  .max(SCOPES.length, { error: 'Too many scopes.' })
  .transform((chosen): readonly ScopeName[] => SCOPES.filter((scope) => chosen.includes(scope)));

/** Settings of a key. An absent setting means no restriction. */
export type KeyRestrictions = Readonly<z.infer<typeof keyRestrictions>>;
export const keyRestrictions = z.strictObject({
  name,
  note: note.exactOptional(),
  scopes,
  models: modelIds.exactOptional(),
  ipRanges: ipRanges.exactOptional(),
  expiresAtMs: momentMs.exactOptional(),
  requestsPerMinute: requestsPerMinute.exactOptional(),
  tokensPerMinute: tokensPerMinute.exactOptional(),
  dailyBudgetNanoUsd: budgetNanoUsd.exactOptional(),
  /** Budget of each UTC month. */
  monthlyBudgetNanoUsd: budgetNanoUsd.exactOptional(),
  lifetimeBudgetNanoUsd: budgetNanoUsd.exactOptional(),
});

export type KeyChange = z.infer<typeof keyChange>;
export const keyChange = changeOf(keyRestrictions);

export const keyReplacement = z.strictObject({
  revokeOldAfterHours: wholeNumber(0, MAX_OVERLAP_HOURS),
  expiresAtMs: momentMs.nullable().exactOptional(),
});

export const severalKeys = z.strictObject({
  keys: z
    .array(idOf('key'), { error: 'This must be a list of key ids.' })
    .min(1, { error: 'Choose at least one.' })
    .max(MAX_REVOKED_AT_ONCE, { error: `At most ${MAX_REVOKED_AT_ONCE} keys at once.` })
    .transform((ids) => [...new Set(ids)]),
});

/** `revoking`: still works, and has a scheduled revocation. */
export type KeyStateName = 'usable' | 'revoking' | 'expired' | 'revoked';

export interface KeyView extends KeyRestrictions {
  readonly id: string;
  readonly last4: string;
  readonly state: KeyStateName;
  readonly createdAtMs: number;
  /** Email of the owner: the creator, or who was handed the key. Absent: made by a command line. */
  readonly createdBy?: string;
  readonly revokedAtMs?: number;
  readonly lastUsedAtMs?: number;
  readonly lastAddress?: string;
  readonly spentTodayNanoUsd: string;
  readonly spentThisMonthNanoUsd?: string;
  readonly spentInLifetimeNanoUsd?: string;
  /** True if the caller may edit, replace and revoke it. */
  readonly mine: boolean;
}

export interface CreatedKeyView {
  readonly key: KeyView;
  /** The secret of the key. No other response ever contains it. */
  readonly secret: string;
}

export interface KeysApi {
  /** Newest first: all keys that are not revoked, and the newest thousand revoked ones. */
  'GET /api/organizations/:organization/keys': { query: Empty; response: { keys: readonly KeyView[] } };
  'POST /api/organizations/:organization/keys': { body: KeyRestrictions; response: CreatedKeyView };
  'GET /api/organizations/:organization/keys/:key': { query: Empty; response: KeyView };
  'PATCH /api/organizations/:organization/keys/:key': { body: KeyChange; response: KeyView };
  'POST /api/organizations/:organization/keys/:key/revocation': { body: Empty; response: KeyView };
  /** Revokes all of these keys or none. */
  'POST /api/organizations/:organization/keys/revocation': {
    body: z.infer<typeof severalKeys>;
    /** Number of keys that were not revoked before. */
    response: { revoked: number };
  };
  /**
   * Creates a key with the same settings, with the expiry of the body if it has one. The old key is
   * revoked after the given hours; 0 means now.
   */
  'POST /api/organizations/:organization/keys/:key/replacement': {
    body: z.infer<typeof keyReplacement>;
    response: CreatedKeyView;
  };
}
