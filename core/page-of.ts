/** A page of rows, read with one more than its limit. `next`: where the next page begins. */
export function pageOf<Row, Next>(rows: readonly Row[], limit: number, nextOf: (last: Row) => Next) {
  const page: { rows: readonly Row[]; next?: Next } = { rows: rows.slice(0, limit) };
  const last = page.rows.at(-1);
  if (rows.length > limit && last !== undefined) page.next = nextOf(last);
  return page;
}
