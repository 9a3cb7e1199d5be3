/** SQL of a `timestamptz` in Unix milliseconds. `pg` reads it as a number. */
export function milliseconds(column: string): string {
  return `floor(extract(epoch from ${column}) * 1000)::double precision`;
}

/** The same, to the nearest one: of a moment that was stored in milliseconds. */
export function nearestMilliseconds(column: string): string {
  return `round(extract(epoch from ${column}) * 1000)::double precision`;
}
