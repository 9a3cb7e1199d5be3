/** Above what Envoy lets through, so that this listener never is the one that refuses. As much may wait behind an answer. */
const MAX_HEAD_BYTES = 256 * 1024;

const REQUEST_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ [!-~]+ HTTP\/1\.1$/;
/**
 * Values are not judged further: the client's host is among them, and what Envoy lets through must not end here. A value begins with what is
 * no blank: were there two ways to read blanks, a line of 40,000 that ends wrongly would be looked at for 12 s.
 */
const HEADER_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*((?:[^\0\r \t][^\0\r]*)?)$/;
const LENGTH = /^[0-9]{1,15}$/;
/** Extensions mean nothing to us. */
const CHUNK_SIZE = /^([0-9A-Fa-f]{1,12})(?:[ \t]*;[^\0\r]*)?$/;

/** What the next bytes are. */
type Part = 'request_line' | 'header' | 'body' | 'chunk_size' | 'chunk' | 'chunk_end' | 'trailer';

/**
 * Reads the HTTP/1.1 requests of one connection of Envoy's, in whatever pieces they come. Nothing is wanted of a request but the stream
 * that it names; its body is passed over, and what follows waits until it is asked for.
 */
export class StreamRequestReader {
  readonly #idHeader: string;
  /** What has come, as Latin-1, and how much of it was read. */
  #text = '';
  #at = 0;
  /** The beginning of a line whose end has not come. */
  #line = '';
  /** Of the lines of this head, or of these trailers, or of this one line between chunks. */
  #lineBytes = 0;
  #part: Part = 'request_line';
  #streamId = '';
  #length: number | undefined;
  #chunked = false;
  /** What is left of a body with a length, or of a chunk. */
  #bodyBytes = 0;
  #malformed = false;

  /** `idHeader`: the name of the header with the stream's id, in lower case. */
  constructor(idHeader: string) {
    this.#idHeader = idHeader;
  }

  /** What came is no request, and nothing that follows is one. */
  get malformed(): boolean {
    return this.#malformed;
  }

  push(bytes: Buffer): void {
    const text = bytes.toString('latin1');
    this.#text = this.#at === this.#text.length ? text : this.#text.slice(this.#at) + text;
    this.#at = 0;
    this.#passBody();
    if (this.#text.length - this.#at > MAX_HEAD_BYTES) this.#malformed = true;
  }

  /** The stream that the next request names, empty if it names none; nothing while its head is not whole. */
  next(): string | undefined {
    while (this.#part === 'request_line' || this.#part === 'header') {
      const line = this.#takeLine();
      if (line === undefined) return undefined;
      if (this.#part === 'request_line') this.#begin(line);
      else if (line !== '') this.#takeHeader(line);
      else {
        this.#endHead();
        this.#passBody();
        return this.#malformed ? undefined : this.#streamId;
      }
    }
    return undefined;
  }

  #begin(line: string): void {
    if (!REQUEST_LINE.test(line)) this.#malformed = true;
    this.#streamId = '';
    this.#length = undefined;
    this.#chunked = false;
    this.#part = 'header';
  }

  #takeHeader(line: string): void {
    const [, name, value = ''] = HEADER_LINE.exec(line) ?? [];
    switch (name?.toLowerCase()) {
      case undefined:
        this.#malformed = true;
        return;
      case this.#idHeader:
        this.#streamId = value;
        return;
      case 'content-length':
        if (this.#length !== undefined || !LENGTH.test(value)) this.#malformed = true;
        this.#length = Number(value);
        return;
      case 'transfer-encoding':
        if (this.#chunked || value !== 'chunked') this.#malformed = true;
        this.#chunked = true;
    }
  }

  #endHead(): void {
    if (this.#chunked && this.#length !== undefined) this.#malformed = true;
    this.#bodyBytes = this.#length ?? 0;
    this.#endLines(this.#chunked ? 'chunk_size' : 'body');
  }

  #endLines(next: Part): void {
    this.#lineBytes = 0;
    this.#part = next;
  }

  #passBody(): void {
    while (this.#part !== 'request_line' && this.#part !== 'header') {
      if (this.#part === 'body' || this.#part === 'chunk') {
        if (!this.#passBytes()) return;
        this.#part = this.#part === 'body' ? 'request_line' : 'chunk_end';
        continue;
      }
      const line = this.#takeLine();
      if (line === undefined) return;
      this.#takeBodyLine(line);
    }
  }

  /** False: more are to come. */
  #passBytes(): boolean {
    const passed = Math.min(this.#bodyBytes, this.#text.length - this.#at);
    this.#bodyBytes -= passed;
    this.#at += passed;
    return this.#bodyBytes === 0;
  }

  #takeBodyLine(line: string): void {
    if (this.#part === 'trailer') {
      if (line === '') this.#endLines('request_line');
      else if (!HEADER_LINE.test(line)) this.#malformed = true;
    } else if (this.#part === 'chunk_end') {
      if (line !== '') this.#malformed = true;
      this.#endLines('chunk_size');
    } else {
      const size = CHUNK_SIZE.exec(line)?.[1];
      if (size === undefined) this.#malformed = true;
      this.#bodyBytes = Number.parseInt(size ?? '0', 16);
      this.#endLines(this.#bodyBytes === 0 ? 'trailer' : 'chunk');
    }
  }

  /** Without its end, which is CR and LF. Each byte is looked at once, however they come. */
  #takeLine(): string | undefined {
    if (this.#malformed) return undefined;
    const end = this.#text.indexOf('\n', this.#at);
    const piece = end === -1 ? this.#text.slice(this.#at) : this.#text.slice(this.#at, end);
    this.#at = end === -1 ? this.#text.length : end + 1;
    this.#line += piece;
    this.#lineBytes += piece.length + (end === -1 ? 0 : 1);
    if (this.#lineBytes > MAX_HEAD_BYTES) this.#malformed = true;
    if (end === -1) return undefined;
    const line = this.#line;
    this.#line = '';
    if (!this.#malformed && line.endsWith('\r')) return line.slice(0, -1);
    this.#malformed = true;
    return undefined;
  }
}
