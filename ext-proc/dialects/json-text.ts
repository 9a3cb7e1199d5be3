const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

/** Escapes of JSON but `\u`, by the character after the backslash. */
const ESCAPED = '"\\/bfnrt';
const CODE_POINT = /^[0-9a-fA-F]{4}$/;

/** Index of the quote that closes the JSON string from `start` on. -1: the string is invalid. */
export function textEnd(data: string, start: number): number {
  for (let at = start; at < data.length; at++) {
    const code = data.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code < 0x20) return -1;
    if (code !== BACKSLASH) continue;
    const isCodePoint = data.charCodeAt(at + 1) === LETTER_U;
    if (isCodePoint ? !CODE_POINT.test(data.slice(at + 2, at + 6)) : !ESCAPED.includes(data.charAt(at + 1))) return -1;
    at += isCodePoint ? 5 : 1;
  }
  return -1;
}

/** Decodes a valid JSON string, given without its quotes. */
export function textIn(json: string): string {
  return json.includes('\\') ? (JSON.parse(`"${json}"`) as string) : json;
}
