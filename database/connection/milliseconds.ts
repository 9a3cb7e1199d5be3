/** SQL of a `timestamptz` in Unix milliseconds. `pg` reads it as a number. */
export function milliseconds(column: string): string {
  return `floor(extract(epoch from ${column}) * 1000)::double precision`;
}
