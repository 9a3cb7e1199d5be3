import { expect, test } from 'vitest';
import { clusterOf } from '../../envoy-config/provider-cluster.ts';
import { admittedRequest, provider } from '../admitted-request.fixture.ts';
import { providerRequest } from './provider-request.ts';

const BODY = [Buffer.from('{}')];

function requestTo(more: Parameters<typeof provider>[1], stream = false, api: 'chat' | 'anthropic' = 'chat') {
  const target = { provider: provider('alpha', more), model: 'm', api };
  return providerRequest(admittedRequest({ stream }), target, undefined, BODY);
}

const headersTo = (...request: Parameters<typeof requestTo>) => requestTo(...request).headers;

test('a request has a path, headers in order, and the length of its body', () => {
  const { path, headers, body, bodyBytes } = requestTo({}, true);
  expect(path).toBe('/api/v1/chat/completions');
  expect(headers).toEqual([
    ...['host', 'alpha.example', 'x-gw-cluster', clusterOf(provider('alpha')), 'content-type', 'application/json'],
    ...['accept', 'text/event-stream', 'accept-encoding', 'identity', 'user-agent', 'inference-gateway'],
    ...['authorization', 'Bearer secret-of-alpha'],
  ]);
  expect(bodyBytes).toBe(Buffer.concat(body).length);
});

test.each(['a\r\nx: y', 'a\nb', 'a\rb', 'a\0b', 'a\u2028', 'a\u0100', 'a\x7f'])(
  'a secret such as %j is never written',
  (apiKey) => {
    expect(headersTo({ apiKey })).toBeUndefined();
    expect(headersTo({ apiKey }, true)).toBeUndefined();
  },
);

test('a secret in Latin-1 is sent as it is', () => {
  expect(headersTo({ apiKey: 'clé\t' })).toContain('Bearer clé\t');
});

test('each provider has its own headers, even if another has the same name', () => {
  expect(headersTo({ apiKey: 'one' })).toContain('Bearer one');
  expect(headersTo({ apiKey: 'two' })).toContain('Bearer two');
  expect(headersTo({ apiKey: 'two' }, true)).toContain('text/event-stream');
});

test('a version of the Messages API is sent only to targets with that API', () => {
  const versionTo = (more: Parameters<typeof provider>[1]) => {
    const headers = headersTo(more, false, 'anthropic') ?? [];
    return headers[headers.indexOf('anthropic-version') + 1];
  };
  expect(versionTo({})).toBe('2023-06-01');
  expect(versionTo({ anthropicVersion: '2026-10-21' })).toBe('2026-10-21');
  expect(headersTo({ anthropicVersion: '2026-10-21' })).not.toContain('anthropic-version');
});

test('a key is sent unchanged in the header that is configured for it', () => {
  const headers = headersTo({ auth: { kind: 'header', name: 'api-key' } });
  expect(headers?.slice(-2)).toEqual(['api-key', 'secret-of-alpha']);
  expect(headers).not.toContain('authorization');
});

test('configured headers and an encoded query are part of every call', () => {
  const more = { headers: { 'x-team': 'gateway', 'user-agent': 'mine' }, query: { 'api-version': 'a b&c', 'ü=': '+' } };
  const { path, headers } = requestTo(more);
  expect(path).toBe('/api/v1/chat/completions?api-version=a%20b%26c&%C3%BC%3D=%2B');
  expect(headers).toEqual(expect.arrayContaining(['x-team', 'gateway', 'user-agent', 'mine']));
  expect(headers?.filter((name) => name === 'user-agent')).toHaveLength(1);
});
