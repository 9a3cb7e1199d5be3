import { expect, test } from 'vitest';
import { envelopeOf, isRefusal } from '#core/errors/refusal.ts';
import { readAt } from '../../delivery/at-door.fixture.ts';
import { MESSAGES_DOOR } from '../messages/messages-door.ts';
import { RESPONSES_DOOR } from '../responses/responses-door.ts';

test.each([
  ['responses', RESPONSES_DOOR, {}, 'The field input is required and must be a text or an array, and not empty.'],
  [
    'responses',
    RESPONSES_DOOR,
    { input: '' },
    'The field input is required and must be a text or an array, and not empty.',
  ],
  ['messages', MESSAGES_DOOR, {}, 'The field messages is required and must be an array with at least one message.'],
  [
    'messages',
    MESSAGES_DOOR,
    { messages: 'x' },
    'The field messages is required and must be an array with at least one message.',
  ],
])('messages or input are missing: %s', async (_, door, body, message) => {
  const refusal = await readAt(door, { model: 'm', ...body });
  if (refusal === undefined || !isRefusal(refusal)) throw new Error('not refused');
  expect(envelopeOf(refusal).error).toMatchObject({ code: 'missing_messages', message });
});

test.each([
  ['messages[2].content', 'input'],
  ['messages', 'input'],
  ['temperature', 'temperature'],
])('a provider that names %s means %s of a Responses body', (param, here) => {
  expect(RESPONSES_DOOR.param(param)).toBe(here);
});
