import { expect, test } from 'vitest';
import { PassedResponseStream } from './passed-response.ts';

const event = (sequence: number, type: string, more: object = {}) =>
  JSON.stringify({ type, sequence_number: sequence, ...more });

test.each([
  ['error', { code: 'server_error', message: 'Sorry.' }],
  ['response.failed', { response: { status: 'failed' } }],
  // Its charge failed, so the client gets an error instead.
  ['response.completed', { response: { status: 'completed' } }],
])('an event %s, in place of which the client gets an error, leaves no gap in the numbers', (type, more) => {
  const names = { generationId: 'gen-1', requestId: 'r', model: 'm', createdAtSeconds: 1, asked: {} };
  const stream = new PassedResponseStream(names);
  stream.event('response.created', event(0, 'response.created', { response: {} }));
  expect(stream.event(type, event(1, type, more))).toBe('');
  const failure = { message: 'The model provider failed.', type: 'api_error', code: 'upstream_error', metadata: {} };
  const numbers = stream.failed(failure, undefined).matchAll(/"sequence_number":(\d+)/g);
  expect([...numbers].map(([, number]) => number)).toEqual(['1', '2']);
});
