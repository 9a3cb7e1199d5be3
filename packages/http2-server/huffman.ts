import type { BorrowedBytes } from './borrowed-bytes.ts';

/**
 * Length in bits of the code of each byte and of the end symbol (RFC 7541, Huffman Code). The code
 * is canonical: codes of one length follow each other in the order of the bytes, so the lengths
 * define them.
 */
const CODE_BITS = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
  28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6,
  5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23,
  22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22,
  23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26,
  20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27,
  27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27,
  27, 27, 27, 26, 30,
];

const END = 256;
/** Children of node n: 2n (bit 0) and 2n + 1. Negative ones are leaves: a byte's complement. */
const TREE = buildTree();

function buildTree(): Int16Array {
  const tree = new Int16Array(2 * CODE_BITS.length);
  let nodes = 1;
  let code = 0;
  let codeBits = 0;
  const symbols = CODE_BITS.map((bits, symbol) => ({ bits, symbol }));
  for (const { bits, symbol } of symbols.sort((a, b) => a.bits - b.bits || a.symbol - b.symbol)) {
    code *= 2 ** (bits - codeBits);
    codeBits = bits;
    let node = 0;
    for (let bit = bits - 1; bit > 0; bit--) {
      const at = 2 * node + ((code >>> bit) & 1);
      if (tree[at] === 0) tree[at] = nodes++;
      node = tree[at] ?? 0;
    }
    tree[2 * node + (code & 1)] = ~symbol;
    code += 1;
  }
  return tree;
}

/** Text as Latin-1. `undefined`: an end symbol, or padding longer than 7 bits or with zeros. */
export function decodeHuffman(bytes: BorrowedBytes, start: number, end: number): string | undefined {
  let text = '';
  let node = 0;
  /** Number of bits since the last symbol. `ones`: all of them were ones. */
  let tail = 0;
  let ones = true;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0;
    for (let bit = 7; bit >= 0; bit--) {
      const one = (byte >>> bit) & 1;
      const next = TREE[2 * node + one] ?? 0;
      tail++;
      ones = ones && one === 1;
      node = next;
      if (next >= 0) continue;
      if (~next === END) return undefined;
      text += String.fromCharCode(~next);
      node = 0;
      tail = 0;
      ones = true;
    }
  }
  return tail < 8 && ones ? text : undefined;
}
