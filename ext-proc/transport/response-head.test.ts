import { describe, expect, test } from 'vitest';
import { encodeHead } from './response-head.ts';

const EVERYWHERE = 'cache-control: no-store\r\nx-content-type-options: nosniff\r\n';

describe('encodeHead', () => {
  test('an answer without a length is written in chunks', () => {
    expect(encodeHead({ status: 200, headers: { 'x-own': 'a\tb\xff' } })).toEqual({
      text: `HTTP/1.1 200 \r\n${EVERYWHERE}x-own: a\tb\xff\r\ntransfer-encoding: chunked\r\n\r\n`,
      bodyBytes: undefined,
    });
    expect(encodeHead({ status: 201, headers: { 'content-length': '12' } })).toEqual({
      text: `HTTP/1.1 201 \r\n${EVERYWHERE}content-length: 12\r\n\r\n`,
      bodyBytes: 12,
    });
  });

  test.each([
    ['a line end', { a: 'b\r\nc: d' }],
    ['a lone LF', { a: 'b\nc' }],
    ['a zero byte', { a: '\0' }],
    ['what Latin-1 cannot say', { a: '€' }],
    ['a name with a colon', { 'a:': 'b' }],
    ['a name in capitals', { A: 'b' }],
    ['no name', { '': 'b' }],
  ])('%s is a bug, and never written', (_, headers) => {
    expect(() => encodeHead({ status: 200, headers })).toThrow(/no header/);
  });
});
