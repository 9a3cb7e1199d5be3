/**
 * Tokens of characters outside ASCII, by script: the last code point of a range, and tokens x 1000,
 * fitted to o200k_base. Letters that no tokenizer knows cost more than those of
 * everyday text, up to a token for each byte.
 */
const SCRIPTS: readonly (readonly [last: number, weight: number])[] = [
  [0x7f, 700],
  [0x24f, 600],
  [0x36f, 700],
  [0x3ff, 550],
  [0x40f, 550],
  [0x44f, 330],
  [0x45f, 500],
  [0x52f, 650],
  [0x5ff, 600],
  [0x6ff, 500],
  [0x7ff, 800],
  [0x8ff, 1000],
  [0xdff, 500],
  [0xe5f, 500],
  [0xeff, 800],
  [0xfff, 1000],
  [0x10ff, 750],
  [0x11ff, 900],
  [0x177f, 1200],
  [0x17ff, 800],
  [0x1dff, 1200],
  [0x1fff, 800],
  [0x2fff, 1200],
  [0x30ff, 850],
  [0x9fff, 900],
  [0xabff, 1500],
  [0xd7ff, 820],
  [0xfaff, 1500],
  [0xffff, 1000],
];

/** Weights by blocks of 16 code points. Outside ASCII nothing is looked up as often. */
const BLOCK_BITS = 4;
const BLOCK_WEIGHTS = new Uint16Array(0x10000 >> BLOCK_BITS);
let next = 0;
for (const [last, weight] of SCRIPTS) {
  BLOCK_WEIGHTS.fill(weight, next, (last + 1) >> BLOCK_BITS);
  next = (last + 1) >> BLOCK_BITS;
}
const BEYOND_THE_PLANE = 2200;

/** Tokens x 1000. */
export function weightOf(point: number): number {
  return point > 0xffff ? BEYOND_THE_PLANE : (BLOCK_WEIGHTS[point >> BLOCK_BITS] as number);
}
