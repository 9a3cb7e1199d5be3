import { describe, expect, test } from 'vitest';
import { HeaderList, RequestHead } from './request-head.ts';

function head(headers: readonly (readonly [string, string])[], address = ''): RequestHead {
  let text = '';
  const places: number[] = [];
  for (const [name, value] of headers) {
    const start = text.length;
    text += `${name}:${value};`;
    const valueStart = start + name.length + 1;
    places.push(start, start + name.length, valueStart, valueStart + value.length);
  }
  return new RequestHead(new HeaderList(text, places), address, false);
}

describe('RequestHead', () => {
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
    expect(read.header('host')).toBe('api.example:8080');
  });

  test('joins repeated headers, and keeps every byte of a value', () => {
    const read = head([
      ['x-forwarded-for', '192.0.2.1'],
      ['x-forwarded-for', '192.0.2.2'],
      ['x-odd', 'caf\u00e9\u0080'],
    ]);
    expect(read.header('x-forwarded-for')).toBe('192.0.2.1, 192.0.2.2');
    expect(read.header('x-odd')).toBe('caf\u00e9\u0080');
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
    [16_300, 1, false],
    [16_400, 1, true],
    [10, 107, false],
    [10, 108, true],
  ])('a header of %i bytes, %i times in number: oversized %s', (size, count, oversized) => {
    const value = 'a'.repeat(Math.floor(size / count));
    expect(head(Array.from({ length: count }, (_, index) => [`x-${index}`, value] as const)).oversized).toBe(oversized);
  });

  test('keeps of a large head only the names and the values that are read with the body', () => {
    const large = head([
      ['authorization', 'Bearer x'],
      ['x-filler-that-is-long', 'a'.repeat(5_000)],
      ['user-agent', 'curl/8 and what else it may say'],
    ]);
    large.trim();
    expect([large.header('authorization'), large.header('user-agent')]).toEqual([
      'Bearer x',
      'curl/8 and what else it may say',
    ]);
    expect(large.header('content-encoding')).toBeUndefined();
    expect([...large.headerNames()]).toEqual(['authorization', 'x-filler-that-is-long', 'user-agent']);
    expect(() => large.header('x-filler-that-is-long')).toThrow('not kept');
  });

  test('a small head stays whole', () => {
    const small = head([['x-forwarded-for', '192.0.2.1']]);
    small.trim();
    expect(small.header('x-forwarded-for')).toBe('192.0.2.1');
  });

  test.each<[string | undefined, string | undefined, boolean]>([
    ['a', undefined, true],
    ['a,a', 'HTTP/2', true],
    ['a,a', 'HTTP/1.1', false],
    ['a,a', undefined, false],
    ['a,b', 'HTTP/2', false],
    ['a,a,a', 'HTTP/2', false],
    [',', 'HTTP/2', false],
    ['', undefined, false],
    [undefined, undefined, false],
  ])('the host %j over %s: one host is %s', (host, protocol, expected) => {
    const fields = [
      [':authority', host],
      ['x-gw-protocol', protocol],
    ] as const;
    const read = head(fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])));
    expect(read.hasOneHost).toBe(expected);
  });
});
