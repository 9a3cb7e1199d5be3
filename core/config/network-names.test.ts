import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatAddress, overlap, parseAddress, parseBaseUrl, parsePublicUrl, parseSiteUrl } from './network-names.ts';

describe('addresses', () => {
  test('IPv4 and IPv6, written and read', () => {
    const port = fc.integer({ min: 1, max: 65_535 });
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), port, (host, number) => {
        expect(parseAddress(formatAddress({ host, port: number }))).toEqual({ host, port: number });
      }),
    );
  });

  test.each([
    'localhost:80',
    '127.0.0.1',
    ':80',
    '127.0.0.1:0',
    '127.0.0.1:65536',
    '::1:80',
    '[::1]',
    '[127.0.0.1]:80',
    '256.0.0.1:80',
    '[fe80::1%eth0]:80',
    ' 127.0.0.1:80',
  ])('%s is refused', (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });

  test.each([
    ['0.0.0.0:1', '127.0.0.1:1', true],
    ['[::]:1', '10.0.0.1:1', true],
    ['127.0.0.1:1', '127.0.0.1:1', true],
    ['127.0.0.1:1', '10.0.0.1:1', false],
    ['0.0.0.0:1', '0.0.0.0:2', false],
  ])('%s and %s overlap: %s', (a, b, expected) => {
    const [first, second] = [parseAddress(a), parseAddress(b)];
    if (!first || !second) throw new Error('not addresses');
    expect(overlap(first, second)).toBe(expected);
    expect(overlap(second, first)).toBe(expected);
  });
});

describe('base URLs', () => {
  test.each([
    ['https://api.openai.com/v1', 'https://api.openai.com/v1'],
    ['https://api.openai.com/v1///', 'https://api.openai.com/v1'],
    ['http://localhost:11434', 'http://localhost:11434/'],
    ['http://my_service:80/x/y', 'http://my_service/x/y'],
    ['https://[::1]:8443/v1', 'https://[::1]:8443/v1'],
    ['HTTPS://EXAMPLE.com/V1', 'https://example.com/V1'],
    ['https://bücher.example/v1', 'https://xn--bcher-kva.example/v1'],
  ])('%s becomes %s', (text, href) => {
    expect(parseBaseUrl(text)?.href).toBe(href);
  });

  test.each([
    'ftp://example.com',
    'example.com/v1',
    'https://',
    'https:///v1',
    'https://user@example.com',
    'https://u:p@example.com',
    'https://example.com/?a=1',
    'https://example.com/#a',
    'https://example.com:0/',
    'https://example.com:99999/',
    'https://exa mple.com',
    'https://example..com',
    'https://example.com.',
    ' https://example.com',
    'https://a%20b.com',
    'http://example.com\\@evil',
  ])('%s is refused', (text) => {
    expect(parseBaseUrl(text)).toBeUndefined();
  });
});

test('a public URL keeps its query, but no credentials', () => {
  expect(parsePublicUrl('https://billing.example.com/top-up?from=api')).toBe(
    'https://billing.example.com/top-up?from=api',
  );
  expect(parsePublicUrl('https://user:secret@billing.example.com/')).toBeUndefined();
  expect(parsePublicUrl('javascript:alert(1)')).toBeUndefined();
});

test.each([
  ['https://dashboard.example.com', 'https://dashboard.example.com/'],
  ['HTTPS://Dashboard.Example.com:443//', 'https://dashboard.example.com/'],
  ['http://[::1]:8081/', 'http://[::1]:8081/'],
  ['http://dashboard.example.com.', 'http://dashboard.example.com./'],
  ['https://example.com/dashboard', undefined],
  ['https://example.com/?', undefined],
  ['https://example.com#', undefined],
  ['https://user@example.com', undefined],
])('the address %s of a site is read as %s', (text, href) => {
  expect(parseSiteUrl(text)?.href).toBe(href);
});
