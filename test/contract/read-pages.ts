import { expect } from 'vitest';

/** Reads all pages of a list, each full but the last. */
export async function readPages<Item, Cursor>(
  limit: number,
  read: (page: {
    limit: number;
    before?: Cursor;
  }) => Promise<readonly [items: readonly Item[], next: Cursor | undefined]>,
): Promise<Item[]> {
  const found: Item[] = [];
  let before: Cursor | undefined;
  do {
    const [items, next] = await read(before === undefined ? { limit } : { limit, before });
    found.push(...items);
    if (next !== undefined) expect(items).toHaveLength(limit);
    before = next;
  } while (before !== undefined);
  return found;
}
