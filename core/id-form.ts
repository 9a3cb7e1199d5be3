/** Form of identifiers, apart from ids.ts, which makes them: the page also checks ids. */
export type IdPrefix = 'gen' | 'org' | 'key' | 'usr' | 'ses' | 'log' | 'evt' | 'crd' | 'top' | 'viw';

/** The digits of Crockford's base32, in their order. */
export const ID_DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

const AFTER_PREFIX = /^-[0-9A-HJKMNP-TV-Z]{26}$/;

export function isIdOf(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(prefix) && AFTER_PREFIX.test(text.slice(prefix.length));
}

/** A ULID's first digit has three bits. The ledger's partitions are ranges of generation ids. */
export function isGenerationId(text: string): boolean {
  return isIdOf('gen', text) && text.charAt('gen-'.length) <= '7';
}
