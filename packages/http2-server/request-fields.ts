import { MAX_HEADER_LIST_BYTES } from './protocol.ts';

/** RFC 7541, Calculating Table Size: added to the bytes of each field. */
const FIELD_OVERHEAD_BYTES = 32;

/** Role of a field in requests, determined once per field: most come from a table repeatedly. */
type Kind = 'method' | 'path' | 'scheme' | 'authority' | 'content_length' | 'other' | 'malformed';

export class Field {
  readonly name: string;
  readonly value: string;
  readonly sizeBytes: number;
  readonly kind: Kind;

  constructor(name: string, value: string) {
    this.name = name;
    this.value = value;
    this.sizeBytes = name.length + value.length + FIELD_OVERHEAD_BYTES;
    this.kind = kindOf(name, value);
  }
}

const PSEUDO = new Map<string, Kind>([
  [':method', 'method'],
  [':path', 'path'],
  [':scheme', 'scheme'],
  [':authority', 'authority'],
]);

/** RFC 9113, Connection-Specific Header Fields: forbidden in HTTP/2. */
const CONNECTION_SPECIFIC = new Set(['connection', 'proxy-connection', 'keep-alive', 'transfer-encoding', 'upgrade']);

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const BAD_VALUE = /[\0\r\n]|^[ \t]|[ \t]$/;

function kindOf(name: string, value: string): Kind {
  if (BAD_VALUE.test(value)) return 'malformed';
  if (name.startsWith(':')) return PSEUDO.get(name) ?? 'malformed';
  if (!NAME.test(name) || CONNECTION_SPECIFIC.has(name)) return 'malformed';
  if (name === 'te') return value === 'trailers' ? 'other' : 'malformed';
  if (name === 'content-length') return /^\d{1,15}$/.test(value) ? 'content_length' : 'malformed';
  return 'other';
}

/** Collects and checks the fields of one block of headers or trailers. */
export class RequestFields {
  method: string | undefined;
  path: string | undefined;
  #scheme = false;
  #authority = false;
  /** The content-length in bytes. Negative without one. */
  declaredBytes = -1;
  #malformed = false;
  #regular = false;
  #sizeBytes = 0;

  clear(): void {
    this.method = undefined;
    this.path = undefined;
    this.#scheme = false;
    this.#authority = false;
    this.declaredBytes = -1;
    this.#malformed = false;
    this.#regular = false;
    this.#sizeBytes = 0;
  }

  add(field: Field): void {
    this.#sizeBytes += field.sizeBytes;
    const pseudo = field.kind !== 'other' && field.kind !== 'content_length' && field.kind !== 'malformed';
    if (!pseudo) this.#regular = true;
    else if (this.#regular) this.#malformed = true;
    switch (field.kind) {
      case 'method':
        if (this.method !== undefined) this.#malformed = true;
        this.method = field.value;
        return;
      case 'path':
        if (this.path !== undefined || field.value === '') this.#malformed = true;
        this.path = field.value;
        return;
      case 'scheme':
        if (this.#scheme) this.#malformed = true;
        this.#scheme = true;
        return;
      case 'authority':
        if (this.#authority) this.#malformed = true;
        this.#authority = true;
        return;
      case 'content_length':
        if (this.declaredBytes >= 0) this.#malformed = true;
        this.declaredBytes = Number(field.value);
        return;
      case 'malformed':
        this.#malformed = true;
    }
  }

  get tooLong(): boolean {
    return this.#sizeBytes > MAX_HEADER_LIST_BYTES;
  }

  /** RFC 9113, Request Pseudo-Header Fields. CONNECT is not supported. */
  get isRequest(): boolean {
    return !this.#malformed && this.method !== undefined && this.path !== undefined && this.#scheme;
  }

  get isTrailers(): boolean {
    const pseudo = this.method !== undefined || this.path !== undefined || this.#scheme || this.#authority;
    return !this.#malformed && !pseudo;
  }
}
