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
  ])('names %s as %s', (there, here) => {
    const error = { message: 'Wrong.', type: 'invalid_request_error', code: 'invalid_value', param: there };
    expect(RESPONSES.error({ error })).toEqual({ error: { ...error, param: here } });
  });

  test('is judged as one of chat completions', () => {
    const judge = (status: number, error: object) => statusFailure(status, RESPONSES.error({ error }));
    expect(
      judge(400, {
        message: 'Invalid schema.',
        type: 'invalid_request_error',
        param: 'text.format.schema',
        code: null,
      }),
    ).toMatchObject({
      code: 'invalid_request',
      param: 'response_format.json_schema.schema',
      problem: 'Invalid schema.',
    });
    expect(
      judge(400, {
        ...{ type: 'invalid_request_error', param: 'input', code: 'context_length_exceeded' },
        message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
      }),
    ).toMatchObject({ code: 'context_length_exceeded' });
    expect(
      judge(401, {
        message: 'Incorrect API key.',
        type: 'invalid_request_error',
        code: 'invalid_api_key',
        param: null,
      }),
    ).toMatchObject({ code: 'upstream_config_error', account: 'credentials' });
    expect(
      judge(429, { message: 'You exceeded your quota.', type: 'insufficient_quota', code: 'insufficient_quota' }),
    ).toMatchObject({ code: 'no_capacity', account: 'funds' });
  });

  test('of any other form comes back as it is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        expect(RESPONSES.error(body)).toBe(body);
      }),
    );
    expect(RESPONSES.error('<html>')).toBe('<html>');
    expect(RESPONSES.error(undefined)).toBeUndefined();
  });
});
