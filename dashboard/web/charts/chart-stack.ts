/** Running sums over the series, first at the bottom: the last has the whole height of each step. */
export function stack(series: readonly (readonly number[])[]): number[][] {
  let below: readonly number[] = [];
  return series.map((values) => {
    const sums = values.map((value, index) => value + (below[index] ?? 0));
    below = sums;
    return sums;
  });
}
