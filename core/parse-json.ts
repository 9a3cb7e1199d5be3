/** Converts a number, string, boolean or null that JSON.parse returns for `source`. */
type Revive = (value: unknown, source: string) => unknown;

/** `JSON` of Node, with a parameter that the types of this language level lack. */
interface SourceTextJson {
  parse(
    text: string,
    revive: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
}

/**
 * Like JSON.parse, but with the right keys. V8 looks up a key by its raw text, including escapes,
 * among the keys that followed the same members in earlier texts. So it reads `{"m":1,"\u0061":2}`
 * with a key `\` once somebody had `{"m":1,"\\":2}` parsed (Node 24.21,
 * https://github.com/nodejs/node/issues/63785), and one customer could rename members in another's
 * texts. Keys without escapes are not affected.
 */
export function parseJson(text: string, revive?: Revive): unknown {
  const plain: unknown = JSON.parse(text);
  if (hasEscapedKey(text)) return new ValueReader(text, revive).read();
  if (revive === undefined) return plain;
  return (JSON as SourceTextJson).parse(text, (_, value, { source }) =>
    source === undefined ? value : revive(value, source),
  );
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Reads a text that JSON.parse has accepted, so the grammar is not checked again. */
class ValueReader {
  readonly #text: string;
  readonly #revive: Revive | undefined;
  #at = 0;

  constructor(text: string, revive: Revive | undefined) {
    this.#text = text;
    this.#revive = revive;
  }

  read(): unknown {
    const first = this.#next();
    if (first === OPEN_BRACE) return this.#object();
    if (first === OPEN_BRACKET) return this.#array();
    const source = first === QUOTE ? this.#string() : this.#word();
    const value: unknown = JSON.parse(source);
    return this.#revive === undefined ? value : this.#revive(value, source);
  }

  #object(): object {
    const members = new Map<string, unknown>();
    this.#at++;
    while (this.#next() !== CLOSE_BRACE) {
      if (this.#next() === COMMA) this.#at++;
      this.#next();
      const name = String(JSON.parse(this.#string()));
      this.#next();
      this.#at++;
      members.set(name, this.read());
    }
    this.#at++;
    return Object.fromEntries(members);
  }

  #array(): unknown[] {
    const values: unknown[] = [];
    this.#at++;
    while (this.#next() !== CLOSE_BRACKET) {
      if (this.#next() === COMMA) this.#at++;
      values.push(this.read());
    }
    this.#at++;
    return values;
  }

  /** Steps over white space. Returns the character that follows. */
  #next(): number {
    this.#at = skipSpace(this.#text, this.#at);
    return this.#text.charCodeAt(this.#at);
  }

  #string(): string {
    const start = this.#at;
    this.#at = stringEnd(this.#text, start);
    return this.#text.slice(start, this.#at);
  }

  /** A number, true, false or null. */
  #word(): string {
    const start = this.#at;
    while (isOfWord(this.#text.charCodeAt(this.#at))) this.#at++;
    return this.#text.slice(start, this.#at);
  }
}

/** Also false for the end of the text, whose code is NaN. */
function isOfWord(code: number): boolean {
  return code > 0x20 && code !== COMMA && code !== CLOSE_BRACKET && code !== CLOSE_BRACE;
}

/** Linear: looks at each backslash and each quote once. */
function hasEscapedKey(text: string): boolean {
  let backslash = text.indexOf('\\');
  let start = text.indexOf('"');
  while (backslash !== -1 && start !== -1) {
    const end = stringEnd(text, start);
    if (backslash < start) backslash = text.indexOf('\\', start);
    if (backslash !== -1 && backslash < end && text.charCodeAt(skipSpace(text, end)) === COLON) return true;
    start = text.indexOf('"', end);
  }
  return false;
}

export function skipSpace(text: string, start: number): number {
  let at = start;
  while (text.charCodeAt(at) <= 0x20) at++;
  return at;
}

/** The position after the string that opens at `start`. Throws if it does not end: a bug. */
export function stringEnd(text: string, start: number): number {
  let at = start;
  for (;;) {
    at = text.indexOf('"', at + 1);
    if (at === -1) throw new Error('no JSON object: the text ends within it');
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at + 1;
  }
}
