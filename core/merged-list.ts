/** A list that others may have changed since `before`, with what `after` adds and removes. */
export function mergedList<Item>(
  saved: readonly Item[],
  before: readonly Item[],
  after: readonly Item[],
): readonly Item[] {
  const wasRemoved = (item: Item) => before.includes(item) && !after.includes(item);
  const added = after.filter((item) => !before.includes(item));
  return [...new Set([...saved.filter((item) => !wasRemoved(item)), ...added])];
}
