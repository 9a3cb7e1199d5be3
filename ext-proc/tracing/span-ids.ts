import { randomUUID } from 'node:crypto';

/** From the UUIDs that Node makes in stock: a tenth of what asking for random bytes costs. */

/** 32 hexadecimal digits, 122 bits of them random. */
export function newTraceId(): string {
  return randomUUID().replaceAll('-', '');
}

/** 16 hexadecimal digits, all of them random. */
export function newSpanId(): string {
  const uuid = randomUUID();
  return uuid.slice(0, 4) + uuid.slice(-12);
}
