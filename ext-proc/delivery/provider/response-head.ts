/** `number`: that many bytes. `undefined`: what it says about its body cannot be relied on. */
export type BodyFraming = number | 'chunked' | 'until_close' | undefined;

/** RFC 9112, without what it lets a reader be lenient with. */
const FIELDS = String.raw`(?:\r\n[\w!#$%&'*+\-.^\x60|~]+:[\t\x20-\x7e\x80-\xff]*)*`;
const HEAD = new RegExp(String.raw`^HTTP/1\.1 ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?(${FIELDS})$`);
const TRAILERS = new RegExp(`^${FIELDS}$`);

/** The head of a provider's answer, kept as the text that it came in: most of its headers are never asked for. */
export class ResponseHead {
  readonly kind = 'head';
  readonly status: number;
  readonly #fields: string;
  /** The same in small letters, to find names in. In Latin-1 that moves nothing. */
  readonly #lowered: string;

  constructor(status: number, fields: string) {
    this.status = status;
    this.#fields = fields;
    this.#lowered = fields.toLowerCase();
  }

  /** Lower-case name; repeated headers joined with `, `. */
  header(name: string): string | undefined {
    const mark = `\r\n${name}:`;
    let joined: string | undefined;
    for (let at = this.#lowered.indexOf(mark); at !== -1; at = this.#lowered.indexOf(mark, at + mark.length)) {
      const end = this.#fields.indexOf('\r\n', at + mark.length);
      const value = this.#fields.slice(at + mark.length, end === -1 ? this.#fields.length : end).trim();
      joined = joined === undefined ? value : `${joined}, ${value}`;
    }
    return joined;
  }

  framing(): BodyFraming {
    if (this.status === 204 || this.status === 304) return 0;
    const coding = this.header('transfer-encoding');
    const length = this.header('content-length');
    if (coding !== undefined) return length === undefined && coding.toLowerCase() === 'chunked' ? 'chunked' : undefined;
    if (length === undefined) return 'until_close';
    return /^\d{1,15}$/.test(length) ? Number(length) : undefined;
  }

  /** Nothing follows this answer on its connection. */
  endsConnection(): boolean {
    const connection = this.header('connection');
    return connection !== undefined && /\bclose\b/i.test(connection);
  }
}

/** `text`: all lines, without the empty one. `undefined`: it is not the head of an answer. */
export function parseHead(text: string): ResponseHead | undefined {
  const [, status, fields] = HEAD.exec(text) ?? [];
  return status === undefined || fields === undefined ? undefined : new ResponseHead(Number(status), fields);
}

export function areTrailers(text: string): boolean {
  return TRAILERS.test(text);
}
