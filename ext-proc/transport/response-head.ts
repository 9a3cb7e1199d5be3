import type { ResponseHead } from './exchange.ts';

/** Names and values in turn, on every answer: completions and balances are for no cache, and a browser must not take JSON for a page. */
export const ON_EVERY_ANSWER: readonly string[] = ['cache-control', 'no-store', 'x-content-type-options', 'nosniff'];

const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

const LINES_ON_EVERY_ANSWER = ON_EVERY_ANSWER.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');

/** The head of an HTTP/1.1 answer as it is written, Latin-1. */
export interface EncodedHead {
  readonly text: string;
  /** Absent: the body is written in chunks. */
  readonly bodyBytes: number | undefined;
}

/** Throws when something is no header: what is written next would be read as something else. */
export function encodeHead({ status, headers }: ResponseHead): EncodedHead {
  let text = `HTTP/1.1 ${status} \r\n${LINES_ON_EVERY_ANSWER}`;
  let bodyBytes: number | undefined;
  for (const name in headers) {
    const value = headers[name] ?? '';
    if (!NAME.test(name) || !VALUE.test(value)) throw new Error(`no header: ${JSON.stringify(name)}`);
    if (name === 'content-length') bodyBytes = Number(value);
    text += `${name}: ${value}\r\n`;
  }
  return { text: bodyBytes === undefined ? `${text}transfer-encoding: chunked\r\n\r\n` : `${text}\r\n`, bodyBytes };
}
