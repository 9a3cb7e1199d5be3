/** Bounds of fields that operators and members fill in. The database checks the same bounds. */
export const MAX_NAME_CHARACTERS = 200;
export const MAX_NOTE_CHARACTERS = 500;
export const MAX_LEGAL_NAME = 140;
export const MAX_BILLING_ADDRESS = 300;
export const MAX_TAX_ID = 50;
export const MAX_EMAIL = 320;
/** Reference of a credit. */
export const MAX_REFERENCE = 200;
export const MAX_ALERT_EMAILS = 5;
/** Largest number of a setting without a bound of its own. */
export const MAX_COUNT = 1_000_000_000;
/** Highest token limit of an organization or a key. */
export const MAX_TOKENS_PER_MINUTE = 1_000_000_000_000;
/** Most requests of an organization at once. */
export const MAX_CONCURRENCY = 1_000_000;
/** Most models, and most address ranges, that a key can be restricted to. */
export const MAX_LIST_LENGTH = 200;

/** A model id in a key's restrictions. It may name a model that the configuration no longer has. */
export function isModelId(text: string): boolean {
  return /^[\x21-\x7e]{1,200}$/.test(text);
}

/** The name of a price list. Where a name is expected, `none` stands for no list. */
export const PRICE_LIST_NAME = /^(?!none$)[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** Stripe accepts at most 999,999.99 USD in one payment. */
export const MAX_TOP_UP_USD = 999_999;
/** Most automatic top-ups of a UTC day, in whole USD. */
export const MAX_DAILY_TOP_UPS_USD = 99_999_900;

/** Thirty days. A longer overlap defeats the purpose of a replacement. */
export const MAX_OVERLAP_HOURS = 720;
/** Most keys that are revoked in one transaction, as many as an organization may have usable. */
export const MAX_REVOKED_AT_ONCE = 1_000;
