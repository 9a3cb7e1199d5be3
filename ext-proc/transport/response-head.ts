import type { ResponseHead } from './exchange.ts';

const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The head of an HTTP/1.1 answer as it is written, Latin-1. */
export interface EncodedHead {
  readonly text: string;
  /** Absent: the body is written in chunks. */
  readonly bodyBytes: number | undefined;
}

/** Throws when something is no header: what is written next would be read as something else. */
export function encodeHead({ status, headers }: ResponseHead): EncodedHead {
  let text = `HTTP/1.1 ${status} \r\n`;
  let bodyBytes: number | undefined;
  for (const name in headers) {
    const value = headers[name] ?? '';
    if (!NAME.test(name) || !VALUE.test(value)) throw new Error(`no header: ${JSON.stringify(name)}`);
    if (name === 'content-length') bodyBytes = Number(value);
    text += `${name}: ${value}\r\n`;
  }
  return { text: bodyBytes === undefined ? `${text}transfer-encoding: chunked\r\n\r\n` : `${text}\r\n`, bodyBytes };
}
