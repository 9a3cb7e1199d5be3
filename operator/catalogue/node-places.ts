import { isCollection, isMap, isNode, isPair, isScalar, type Pair, type YAMLMap } from 'yaml';

/** Positions of the parts of a YAML document in its text. */

export function startOf(node: unknown): number {
  return isNode(node) ? (node.range?.[0] ?? 0) : 0;
}

/** End of the last value. The parser would include comments that follow a block. */
export function endOf(node: unknown): number {
  if (isPair(node)) return Math.max(endOf(node.key), endOf(node.value));
  if (isCollection(node) && node.flow !== true && node.items.length > 0) return endOf(node.items.at(-1));
  return isNode(node) ? (node.range?.[1] ?? 0) : 0;
}

/** End of the line, before its line break. */
export function lineEnd(text: string, from: number): number {
  // A block scalar's text ends with its line break.
  if (text[from - 1] === '\n') return from - 1;
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end;
}

export function lineStart(text: string, from: number): number {
  return text.lastIndexOf('\n', from - 1) + 1;
}

export function pairOf(map: YAMLMap, name: string): Pair | undefined {
  return map.items.find(({ key }) => isScalar(key) && key.value === name);
}

/** True for an absent value, `null` and `{}`. */
export function isEmpty(value: unknown): boolean {
  if (isMap(value)) return value.items.length === 0;
  return value === null || value === undefined || (isScalar(value) && value.value === null);
}
