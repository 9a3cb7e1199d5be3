import { randomFillSync } from 'node:crypto';

/**
 * Identifiers: a prefix and 26 characters of Crockford base32 (48 bits of milliseconds, 80 random bits, as a ULID), so that they sort by
 * time. The ledger's partitions are ranges of generation ids (DESIGN 3).
 */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const PREFIX_LENGTH = 'log-'.length;
const TIME_DIGITS = 10;
const RANDOM_DIGITS = 16;

export type IdPrefix = 'gen' | 'org' | 'key' | 'usr' | 'ses' | 'log' | 'evt' | 'crd';

export function newId(prefix: IdPrefix, nowMs: number): string {
  return `${prefix}-${timePart(nowMs)}${randomPart()}`;
}

/** Sorts before every id of that moment and after every earlier one. */
export function idFloor(prefix: IdPrefix, nowMs: number): string {
  return `${prefix}-${timePart(nowMs)}`;
}

/** When an id was made, Unix milliseconds. */
export function idMoment(id: string): number {
  let nowMs = 0;
  for (const digit of id.slice(PREFIX_LENGTH, PREFIX_LENGTH + TIME_DIGITS))
    nowMs = nowMs * 32 + ALPHABET.indexOf(digit);
  return nowMs;
}

const GENERATION_ID = /^gen-[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

export function isGenerationId(text: string): boolean {
  return GENERATION_ID.test(text);
}

function timePart(nowMs: number): string {
  let rest = nowMs;
  let text = '';
  for (let i = 0; i < TIME_DIGITS; i++) {
    text = ALPHABET.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** Random bytes for the next ids: asking for sixteen at a time costs more than everything else about an id. */
const pool = new Uint8Array(4096);
let poolUsed = pool.length;

function randomPart(): string {
  if (poolUsed === pool.length) {
    randomFillSync(pool);
    poolUsed = 0;
  }
  let text = '';
  for (const end = poolUsed + RANDOM_DIGITS; poolUsed < end; poolUsed++) {
    text += ALPHABET.charAt((pool[poolUsed] ?? 0) & 31);
  }
  return text;
}
