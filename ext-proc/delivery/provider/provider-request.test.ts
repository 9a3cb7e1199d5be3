import { expect, test } from 'vitest';
import { admittedRequest, provider } from '../admitted-request.fixture.ts';
import { createIdentities } from './identities.ts';
import { providerRequest } from './provider-request.ts';

const identify = createIdentities(Buffer.alloc(32));

function headersTo(more: Parameters<typeof provider>[1], stream = false): readonly string[] | undefined {
  return providerRequest(
    admittedRequest({ stream }),
    { provider: provider('alpha', more), model: 'm' },
    undefined,
    identify,
  ).headers;
}

test('a request has a path, headers in order, and the length of its body', () => {
  const target = { provider: provider('alpha'), model: 'm' };
  const { path, headers, body, bodyBytes } = providerRequest(
    admittedRequest({ stream: true }),
    target,
    undefined,
    identify,
  );
  expect(path).toBe('/api/v1/chat/completions');
  expect(headers).toEqual([
    ...['host', 'alpha.example', 'x-gw-cluster', 'alpha-1', 'content-type', 'application/json'],
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

test('each provider has its own headers, also where another is named like it', () => {
  expect(headersTo({ apiKey: 'one' })).toContain('Bearer one');
  expect(headersTo({ apiKey: 'two' })).toContain('Bearer two');
  expect(headersTo({ apiKey: 'two' }, true)).toContain('text/event-stream');
});
