/**
 * Invisible characters: controls, zero-width spaces, and marks that change the order of the text
 * after them, even outside of a name. Joiners and marks of direction are allowed, because scripts
 * and emoji need them.
 */
const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069]/u;
const SEEN = /[\p{L}\p{N}\p{P}\p{S}]/u;

/** True for invisible characters or a lone surrogate, which jsonb and CSV files refuse. */
export function hidesSomething(text: string): boolean {
  return HIDDEN.test(text) || !text.isWellFormed();
}

export function showsSomething(text: string): boolean {
  return SEEN.test(text);
}

/** True if PostgreSQL can keep the text: no zero character, no half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}
