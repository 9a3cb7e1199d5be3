import { describe, expect, test } from 'vitest';
import type { ProcessingRequest } from '../../proto/generated/ext_proc.ts';
import { type RequestHead, readHead } from './request-head.ts';

function head(headers: readonly (readonly [string, string])[], address?: string): RequestHead {
  const fields = address === undefined ? {} : { 'source.address': { stringValue: address } };
  const message: ProcessingRequest = { attributes: { 'envoy.filters.http.ext_proc': { fields } } };
  const list = headers.map(([key, value]) => ({ key, rawValue: Buffer.from(value, 'latin1') }));
  return readHead(message, { headers: { headers: list } });
}

describe('readHead', () => {
  test('names what every request has', () => {
    const read = head([
      [':method', 'POST'],
      [':path', '/v1/x?y=%20'],
      [':authority', 'api.example:8080'],
      ['x-request-id', 'abc'],
      ['content-length', '12'],
    ]);
    expect(read).toMatchObject({
      method: 'POST',
      path: '/v1/x?y=%20',
      requestId: 'abc',
      declaredBytes: 12,
      bodiless: false,
    });
    expect(read.headers.get('host')).toBe('api.example:8080');
  });

  test('joins repeated headers, and keeps every byte of a value', () => {
    const read = head([
      ['x-forwarded-for', '192.0.2.1'],
      ['x-forwarded-for', '192.0.2.2'],
      ['x-odd', 'caf\u00e9\u0080'],
    ]);
    expect(read.headers.get('x-forwarded-for')).toBe('192.0.2.1, 192.0.2.2');
    expect(read.headers.get('x-odd')).toBe('caf\u00e9\u0080');
  });

  test.each([
    ['192.0.2.1:4711', '192.0.2.1'],
    ['[2001:db8::1]:4711', '2001:db8::1'],
    ['/run/gateway/ingress.sock', ''],
    ['', ''],
  ])('the peer %s has the address %s', (address, expected) => {
    expect(head([], address).peerAddress).toBe(expected);
  });

  test('without the attribute there is no address', () => {
    expect(head([]).peerAddress).toBe('');
  });

  test('a length beyond all numbers is too long, not none', () => {
    expect(head([['content-length', '9'.repeat(30)]]).declaredBytes).toBe(Number.MAX_SAFE_INTEGER);
  });

  test.each([
    [65_000, 1, false],
    [66_000, 1, true],
    [10, 100, false],
    [10, 120, true],
  ])('a header of %i bytes, %i times in number: oversized %s', (size, count, oversized) => {
    const value = 'a'.repeat(Math.floor(size / count));
    expect(head(Array.from({ length: count }, (_, index) => [`x-${index}`, value] as const)).oversized).toBe(oversized);
  });
});
