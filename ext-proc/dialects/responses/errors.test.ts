import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { statusFailure } from '../../delivery/provider/provider-failure.ts';
import { RESPONSES } from './responses.ts';

describe('the error body of another status', () => {
  test.each([
    ['max_output_tokens', 'max_completion_tokens'],
    ['text.format.schema', 'response_format.json_schema.schema'],
    ['text.format', 'response_format'],
    ['text.verbosity', 'verbosity'],
    ['reasoning.effort', 'reasoning_effort'],
    ['tools[2].parameters', 'tools[2].function.parameters'],
    ['tools[2].name', 'tools[2].function.name'],
    ['input[3].content[0].image_url', 'messages'],
    ['input', 'messages'],
    ['temperature', 'temperature'],
    ['input_audio', 'input_audio'],
  ])('translates the param %s to %s', (there, here) => {
    const error = { message: 'Wrong.', type: 'invalid_request_error', code: 'invalid_value', param: there };
    expect(RESPONSES.error({ error })).toEqual({ error: { ...error, param: here } });
  });

  const INVALID = { type: 'invalid_request_error', code: null };
  const LONG = 'Your input exceeds the context window of this model. Please adjust your input and try again.';
  const SCHEMA = { ...INVALID, message: 'Invalid schema.', param: 'text.format.schema' };
  const QUOTA = { type: 'insufficient_quota', code: 'insufficient_quota', message: 'You exceeded your quota.' };

  test.each<[number, object, object]>([
    [400, SCHEMA, { code: 'invalid_request', param: 'response_format.json_schema.schema', problem: 'Invalid schema.' }],
    [
      400,
      { ...INVALID, message: LONG, param: 'input', code: 'context_length_exceeded' },
      { code: 'context_length_exceeded' },
    ],
    [
      401,
      { ...INVALID, message: 'Incorrect API key.', code: 'invalid_api_key', param: null },
      { code: 'upstream_config_error', account: 'credentials' },
    ],
    [429, QUOTA, { code: 'no_capacity', account: 'funds' }],
  ])('with the status %i, %j, is classified as for chat completions', (status, error, expected) => {
    expect(statusFailure(status, RESPONSES.error({ error }))).toMatchObject(expected);
  });

  test('of any other form is returned unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        expect(RESPONSES.error(body)).toBe(body);
      }),
    );
    expect(RESPONSES.error('<html>')).toBe('<html>');
    expect(RESPONSES.error(undefined)).toBeUndefined();
  });
});
