import { MAX_NAME_CHARACTERS, MAX_NOTE_CHARACTERS, MAX_TOKENS_PER_MINUTE } from '#core/field-bounds.ts';
import type { Empty } from './empty.ts';
import type { Change, Settings } from './setting.ts';

export type ScopeName = 'chat' | 'usage:read';

/** `revoking`: works until its revocation, which is scheduled. */
export type KeyStateName = 'usable' | 'revoking' | 'expired' | 'revoked';

/** Settings of a key. Absent: not restricted. */
export interface KeyRestrictions {
  readonly name: string;
  readonly note?: string;
  readonly scopes: readonly ScopeName[];
  readonly models?: readonly string[];
  readonly ipRanges?: readonly string[];
  readonly expiresAtMs?: number;
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly dailyBudgetNanoUsd?: string;
  /** Budget of each UTC month. */
  readonly monthlyBudgetNanoUsd?: string;
  /** Budget of everything that the key ever spends. */
  readonly lifetimeBudgetNanoUsd?: string;
}

export interface KeyView extends KeyRestrictions {
  readonly id: string;
  readonly last4: string;
  readonly state: KeyStateName;
  readonly createdAtMs: number;
  /**
   * E-mail address of the owner: the creator, or the user who was handed the key. Absent for keys
   * of the command line.
   */
  readonly createdBy?: string;
  readonly revokedAtMs?: number;
  readonly lastUsedAtMs?: number;
  readonly lastAddress?: string;
  readonly spentTodayNanoUsd: string;
  /** Present if the key has a monthly budget. */
  readonly spentThisMonthNanoUsd?: string;
  /** Present if the key has a lifetime budget. */
  readonly spentInLifetimeNanoUsd?: string;
  /** True if the caller may edit, replace and revoke it. */
  readonly mine: boolean;
}

export interface CreatedKeyView {
  readonly key: KeyView;
  /** The whole key. Only this response ever has it. */
  readonly secret: string;
}

export type KeyChange = Change<KeyRestrictions>;

export const KEY_SETTINGS: Settings<KeyRestrictions> = {
  name: {
    kind: 'text',
    label: 'Name',
    hint: 'Says what uses it, such as “Backend production”.',
    max: MAX_NAME_CHARACTERS,
  },
  scopes: { kind: 'list', label: 'Scopes' },
  models: {
    kind: 'list',
    label: 'Models',
    none: 'all',
    hint: 'If none is chosen, the key may use every model, including future ones.',
  },
  ipRanges: {
    kind: 'list',
    label: 'Addresses',
    none: 'any',
    hint: 'Addresses and ranges from which the key works, such as 203.0.113.7 or 10.0.0.0/8. If empty, it works from everywhere.',
  },
  expiresAtMs: { kind: 'instant', label: 'Expires', none: 'never' },
  requestsPerMinute: { kind: 'count', label: 'Requests per minute', none: 'unlimited', brief: '{} rpm' },
  tokensPerMinute: {
    kind: 'count',
    label: 'Tokens per minute',
    none: 'unlimited',
    max: MAX_TOKENS_PER_MINUTE,
    brief: '{} tpm',
  },
  dailyBudgetNanoUsd: { kind: 'money', label: 'Daily budget', none: 'unlimited', brief: '{}/day' },
  monthlyBudgetNanoUsd: {
    kind: 'money',
    label: 'Monthly budget',
    none: 'unlimited',
    hint: 'Of each month in UTC',
    brief: '{}/month',
  },
  lifetimeBudgetNanoUsd: {
    kind: 'money',
    label: 'Lifetime budget',
    none: 'unlimited',
    hint: 'Of all that the key ever spends',
    brief: '{} in all',
  },
  note: {
    kind: 'text',
    label: 'Note',
    none: 'none',
    hint: 'For people only, such as who to ask. No provider sees it.',
    max: MAX_NOTE_CHARACTERS,
  },
};

export interface KeysApi {
  /** Newest first: all keys that are not revoked, and the newest thousand revoked ones. */
  'GET /api/organizations/:organization/keys': { query: Empty; response: { keys: readonly KeyView[] } };
  'POST /api/organizations/:organization/keys': { body: KeyRestrictions; response: CreatedKeyView };
  'GET /api/organizations/:organization/keys/:key': { query: Empty; response: KeyView };
  'PATCH /api/organizations/:organization/keys/:key': { body: KeyChange; response: KeyView };
  'POST /api/organizations/:organization/keys/:key/revocation': { body: Empty; response: KeyView };
  /** Revokes all of these keys or none. */
  'POST /api/organizations/:organization/keys/revocation': {
    body: { keys: readonly string[] };
    /** Number of keys that were not revoked before. */
    response: { revoked: number };
  };
  /**
   * Creates a key with the same settings, but for the expiry if one is given. The old key is
   * revoked after so many hours, at most 720; 0 is now.
   */
  'POST /api/organizations/:organization/keys/:key/replacement': {
    body: { revokeOldAfterHours: number; expiresAtMs?: number | null };
    response: CreatedKeyView;
  };
}
