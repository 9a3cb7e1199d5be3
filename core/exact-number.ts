/** Not yet in the types of TypeScript (TC39, "JSON.parse source text access"; Node 21). */
declare global {
  interface JSON {
    /** An object that `JSON.stringify` writes as this text. */
    rawJSON(text: string): object;
  }
}

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const MAX_NUMBER_CHARACTERS = 400;

/** A number that `JSON.stringify` writes as it stands in the file: `1.0`, and large integers. */
export function exactNumber(value: number, source: string | undefined): number | object {
  if (source === undefined || String(value) === source) return value;
  return source.length <= MAX_NUMBER_CHARACTERS && JSON_NUMBER.test(source) ? JSON.rawJSON(source) : value;
}
