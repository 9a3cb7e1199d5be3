/** The facts that the headers of a request give. */
export class RequestHead {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly peerAddress: string;
  /** True if neither body nor trailers follow. */
  readonly bodiless: boolean;
  /** True if there are more or longer headers than the gateway accepts. */
  readonly oversized: boolean;
  /** True for exactly one host (RFC 9112, Host; RFC 9113, Request Pseudo-Header Fields). */
  readonly hasOneHost: boolean;
  /** The content-length, or 0 without one. */
  readonly declaredBytes: number;
  /** Memory of the request without its body. */
  readonly besideBytes: number;
  #headers: HeaderList;
  #isTrimmed = false;

  constructor(headers: HeaderList, peer: string, bodiless: boolean) {
    this.#headers = headers;
    this.requestId = headers.get('x-request-id') ?? '';
    this.method = headers.get(':method') ?? '';
    this.path = headers.get(':path') ?? '';
    this.peerAddress = withoutPort(peer);
    this.bodiless = bodiless;
    const { bytes } = headers;
    this.besideBytes = bytes + EXCHANGE_BYTES;
    this.oversized = bytes > MAX_HEADER_BYTES || headers.count > MAX_HEADERS;
    this.hasOneHost = isOneHost(headers);
    const declared = Number(headers.get('content-length') ?? 0);
    this.declaredBytes = Number.isSafeInteger(declared) ? declared : Number.MAX_SAFE_INTEGER;
  }

  header(name: string): string | undefined {
    if (this.#isTrimmed && !READ_WITH_BODY.has(name)) throw new Error(`the header ${name} is not kept so long`);
    // Envoy has the host of HTTP/1.1 under the name of HTTP/2, too.
    return (name === 'host' ? this.#headers.get(':authority') : undefined) ?? this.#headers.get(name);
  }

  headerNames(): ReadonlySet<string> {
    return this.#headers.names();
  }

  /** Drops the values that are not needed once the body is read. */
  trim(): void {
    if (this.#headers.bytes <= SMALL_HEAD_BYTES) return;
    this.#headers = this.#headers.withValuesOf(READ_WITH_BODY);
    this.#isTrimmed = true;
  }
}

/** Headers that are read when the body has arrived, or later. */
const READ_WITH_BODY: ReadonlySet<string> = new Set([
  'anthropic-beta',
  'authorization',
  'content-encoding',
  'idempotency-key',
  'user-agent',
]);

/** Heads up to this size, nearly all, are kept whole: copies would cost more than they free. */
const SMALL_HEAD_BYTES = 4 * 1024;

/** Memory of a request without head and body: objects, buffers, its stream from Envoy. */
const EXCHANGE_BYTES = 16 * 1024;

export const MAX_HEADER_BYTES = 16 * 1024;
/** Those that a client may send besides the host. */
const MAX_SENT_HEADERS = 100;
/**
 * There are four pseudo-headers, and Envoy adds three headers: the id, the scheme, and either the
 * mark of an internal address or the address.
 */
const MAX_HEADERS = MAX_SENT_HEADERS + 4 + 3;
/** For refusals: `{limit}` of `request_too_large`. */
export const HEADER_LIMIT = `${MAX_HEADER_BYTES} bytes of headers, or ${MAX_SENT_HEADERS} headers`;

/**
 * Envoy joins repeated hosts with a comma (an empty one leaves no trace), and tells the protocol of
 * such a request. Over HTTP/2 `host` may repeat `:authority`.
 */
function isOneHost(headers: HeaderList): boolean {
  const host = headers.first(':authority') ?? '';
  if (!host.includes(',')) return host !== '';
  const [first, second, ...others] = host.split(',');
  return headers.get('x-gw-protocol') === 'HTTP/2' && first !== '' && first === second && others.length === 0;
}

/** Start and end of a header's name and of its value in the text. */
const NUMBERS_PER_HEADER = 4;

/** Headers as one text, decoded on demand (7 of about 20). Latin-1 keeps every byte, as in Node. */
export class HeaderList {
  readonly #text: string;
  readonly #places: readonly number[];

  /** `places`: offsets of names and values, four for each header. */
  constructor(text: string, places: readonly number[]) {
    this.#text = text;
    this.#places = places;
  }

  get count(): number {
    return this.#places.length / NUMBERS_PER_HEADER;
  }

  /** Length of all names and values. */
  get bytes(): number {
    let sum = 0;
    for (let at = 0; at < this.#places.length; at += NUMBERS_PER_HEADER) {
      sum += this.#place(at + 1) - this.#place(at) + this.#place(at + 3) - this.#place(at + 2);
    }
    return sum;
  }

  /** Returns a header's value. Repeated headers are joined with `, `. */
  get(name: string): string | undefined {
    let value: string | undefined;
    for (let at = 0; at < this.#places.length; at += NUMBERS_PER_HEADER) {
      const start = this.#place(at);
      if (this.#place(at + 1) - start !== name.length || !this.#text.startsWith(name, start)) continue;
      const next = copyOf(this.#text.slice(this.#place(at + 2), this.#place(at + 3)));
      value = value === undefined ? next : `${value}, ${next}`;
    }
    return value;
  }

  /** Returns the first value, which must not be stored: it keeps all headers' text in memory. */
  first(name: string): string | undefined {
    for (let at = 0; at < this.#places.length; at += NUMBERS_PER_HEADER) {
      const start = this.#place(at);
      if (this.#place(at + 1) - start !== name.length || !this.#text.startsWith(name, start)) continue;
      return this.#text.slice(this.#place(at + 2), this.#place(at + 3));
    }
    return undefined;
  }

  names(): ReadonlySet<string> {
    const names = new Set<string>();
    for (let at = 0; at < this.#places.length; at += NUMBERS_PER_HEADER) {
      names.add(this.#text.slice(this.#place(at), this.#place(at + 1)));
    }
    return names;
  }

  /** A copy with the same names, and with empty values for all other names than these. */
  withValuesOf(kept: ReadonlySet<string>): HeaderList {
    let text = '';
    const places: number[] = [];
    for (let at = 0; at < this.#places.length; at += NUMBERS_PER_HEADER) {
      const name = this.#text.slice(this.#place(at), this.#place(at + 1));
      const start = text.length;
      text += name;
      places.push(start, text.length, text.length);
      if (kept.has(name)) text += this.#text.slice(this.#place(at + 2), this.#place(at + 3));
      places.push(text.length);
    }
    return new HeaderList(copyOf(text), places);
  }

  #place(at: number): number {
    return this.#places[at] ?? 0;
  }
}

/** V8 copies shorter parts of a text. A longer part keeps the whole text in memory. */
const SLICED_LENGTH = 13;

function copyOf(part: string): string {
  return part.length < SLICED_LENGTH ? part : Buffer.from(part, 'latin1').toString('latin1');
}

/** Address in `192.0.2.1:4711` or `[2001:db8::1]:4711`. Other peers (Unix sockets) have none. */
function withoutPort(address: string): string {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+)):\d+$/.exec(address);
  return match?.[1] ?? match?.[2] ?? '';
}
