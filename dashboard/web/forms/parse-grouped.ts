/**
 * What was typed of a number, without its dollar sign, spaces and thousands separators. A comma elsewhere stays, and is not accepted
 * afterwards: `1,5` is one and a half to half of the world, and must not become fifteen.
 */
export function withoutGrouping(text: string): string {
  const digits = text.replaceAll(/[$ _]/g, '').replace('−', '-');
  return /^-?\d{1,3}(,\d{3})+(\.\d*)?$/.test(digits) ? digits.replaceAll(',', '') : digits;
}
