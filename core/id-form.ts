/**
 * Form of identifiers. Separate from ids.ts, which makes them, because the dashboard's page checks
 * ids too.
 */
export type IdPrefix = 'gen' | 'org' | 'key' | 'usr' | 'ses' | 'log' | 'evt' | 'crd' | 'top' | 'viw';

/** The digits of Crockford's base32, in their order. */
export const ID_DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

const AFTER_PREFIX = /^-[0-9A-HJKMNP-TV-Z]{26}$/;

export function isIdOf(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(prefix) && AFTER_PREFIX.test(text.slice(prefix.length));
}

/**
 * The first digit of a ULID has three bits. The partitions of the ledger are ranges of generation
 * ids.
 */
export function isGenerationId(text: string): boolean {
  return isIdOf('gen', text) && text.charAt('gen-'.length) <= '7';
}
