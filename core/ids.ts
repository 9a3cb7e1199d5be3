import { randomFillSync } from 'node:crypto';
import { ID_DIGITS, type IdPrefix } from './id-form.ts';

/** Ids of a prefix and 26 base32 digits: 48 bits of milliseconds, 80 random. They sort by time. */
const PREFIX_LENGTH = 'log-'.length;
const TIME_DIGITS = 10;
const RANDOM_DIGITS = 16;

export function newId(prefix: IdPrefix, nowMs: number): string {
  return `${prefix}-${timePart(nowMs)}${randomPart()}`;
}

/** A text that sorts before every id of that moment, and after every earlier id since 1970. */
export function idFloor(prefix: IdPrefix, ms: number): string {
  return `${prefix}-${timePart(Math.max(0, ms))}`;
}

/** When the id was made, in Unix milliseconds. */
export function idMoment(id: string): number {
  let nowMs = 0;
  for (const digit of id.slice(PREFIX_LENGTH, PREFIX_LENGTH + TIME_DIGITS))
    nowMs = nowMs * 32 + ID_DIGITS.indexOf(digit);
  return nowMs;
}

function timePart(nowMs: number): string {
  let rest = nowMs;
  let text = '';
  for (let i = 0; i < TIME_DIGITS; i++) {
    text = ID_DIGITS.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** Random bytes for the next ids: a call for 16 bytes would cost more than the rest of an id. */
const pool = new Uint8Array(4096);
let poolUsed = pool.length;

function randomPart(): string {
  if (poolUsed === pool.length) {
    randomFillSync(pool);
    poolUsed = 0;
  }
  let text = '';
  for (const end = poolUsed + RANDOM_DIGITS; poolUsed < end; poolUsed++) {
    text += ID_DIGITS.charAt((pool[poolUsed] ?? 0) & 31);
  }
  return text;
}
