import { expect, test } from 'vitest';
import { order, provider } from '../order.fixture.ts';
import { createIdentities } from './identities.ts';
import { providerRequest } from './provider-request.ts';

const identify = createIdentities(Buffer.alloc(32));

function headTo(more: Parameters<typeof provider>[1], stream = false): string | undefined {
  return providerRequest(order({ stream }), { provider: provider('alpha', more), model: 'm' }, undefined, identify)
    .head;
}

test('a request head is complete, and has the length of its body', () => {
  const { head, body } = providerRequest(
    order({ stream: true }),
    { provider: provider('alpha'), model: 'm' },
    undefined,
    identify,
  );
  expect(head).toBe(
    'POST /api/v1/chat/completions HTTP/1.1\r\nhost: alpha.example\r\nx-gw-cluster: alpha-1\r\ncontent-type: application/json\r\naccept: text/event-stream\r\naccept-encoding: identity\r\nuser-agent: inference-gateway\r\nauthorization: Bearer secret-of-alpha\r\n' +
      `content-length: ${Buffer.concat(body).length}\r\n\r\n`,
  );
});

test.each(['a\r\nx: y', 'a\nb', 'a\rb', 'a\0b', 'a\u2028', 'a\u0100', 'a\x7f'])(
  'a secret such as %j is never written',
  (apiKey) => {
    expect(headTo({ apiKey })).toBeUndefined();
    expect(headTo({ apiKey }, true)).toBeUndefined();
  },
);

test('a secret in Latin-1 is sent as it is', () => {
  expect(headTo({ apiKey: 'clé\t' })).toContain('authorization: Bearer clé\t\r\n');
});

test('each provider has its own head, also where another is named like it', () => {
  expect(headTo({ apiKey: 'one' })).toContain('Bearer one');
  expect(headTo({ apiKey: 'two' })).toContain('Bearer two');
  expect(headTo({ apiKey: 'two' }, true)).toContain('accept: text/event-stream');
});
