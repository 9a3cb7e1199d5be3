/** SQL that converts a `timestamptz` to Unix milliseconds, which `pg` returns as a number. */
export function milliseconds(column: string): string {
  return `floor(extract(epoch from ${column}) * 1000)::double precision`;
}

/** Same, rounded to the nearest millisecond, for times that were stored in milliseconds. */
export function nearestMilliseconds(column: string): string {
  return `round(extract(epoch from ${column}) * 1000)::double precision`;
}
