import type { ErrorType } from '@anthropic-ai/sdk/resources/shared';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isObject } from '#core/json-object.ts';
import { bodyFailure, statusFailure } from '../../delivery/provider/provider-failure.ts';
import { ANTHROPIC } from './anthropic.ts';
import { chatError } from './errors.ts';

const bodyOf = (type: string, message: string, code?: string) => ({
  type: 'error',
  error: { type, message, ...(code === undefined ? {} : { details: { error_code: code } }) },
  request_id: 'req_011CTKQdfw3P7aHjH88Wn2LC',
});

const TOO_LONG = 'prompt is too long: 213462 tokens > 200000 maximum';
const OVER_WINDOW =
  'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length';

describe('the error body of another status', () => {
  test('is in chat’s envelope', () => {
    expect(ANTHROPIC.error(bodyOf('not_found_error', 'model: claude-0'))).toEqual({
      error: { message: 'model: claude-0', type: 'not_found_error', code: null, param: null },
    });
  });

  const INVALID = 'invalid_request_error';
  const LOW = 'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.';
  const REACHED = 'You have reached your specified API usage limits. You will regain access on 2026-12-01.';
  const PER_MINUTE = 'This request would exceed your organization’s rate limit of 50,000 input tokens per minute.';
  const NO_FUNDS = { code: 'no_capacity', account: 'funds', retry: 'next' };
  const BUSY = { code: 'no_capacity', retry: 'same' };
  const NO_ACCESS = { code: 'upstream_config_error', account: 'credentials' };

  test.each<[status: number, type: string, message: string, expected: object, code?: string]>([
    [400, INVALID, TOO_LONG, { code: 'context_length_exceeded', retry: 'none' }],
    [400, INVALID, OVER_WINDOW, { code: 'context_length_exceeded' }],
    [400, INVALID, 'max_tokens: 9 > 8', { code: 'invalid_request', problem: 'max_tokens: 9 > 8' }],
    [400, INVALID, 'tools.0.custom.name: get_credit_score is odd', { code: 'invalid_request', param: 'tools[0]' }],
    [400, INVALID, LOW, NO_FUNDS],
    [400, INVALID, REACHED, NO_FUNDS],
    [400, INVALID, 'This request cannot be served.', NO_ACCESS, 'organization_on_hold'],
    [401, 'authentication_error', 'invalid x-api-key', NO_ACCESS],
    [402, 'billing_error', 'There is an issue.', NO_FUNDS],
    [403, 'permission_error', 'Not allowed.', NO_ACCESS],
    [404, 'not_found_error', 'model: claude-0', { code: 'upstream_config_error' }],
    [413, 'request_too_large', 'Request exceeds the maximum size', { code: 'invalid_request', retry: 'next' }],
    [429, 'rate_limit_error', PER_MINUTE, BUSY],
    [429, 'rate_limit_error', 'The limit is reached.', NO_FUNDS, 'contract_spend_limit_reached'],
    [429, 'rate_limit_error', 'Slow down.', BUSY, 'ramp_limit_exceeded'],
    [500, 'api_error', 'Internal server error', { code: 'upstream_error', retry: 'same' }],
    [504, 'timeout_error', 'Timed out.', { code: 'request_timeout' }],
    [529, 'overloaded_error', 'Overloaded', BUSY],
  ])('%i %s "%s" is classified as for chat completions', (status, type, message, expected, code) => {
    const body = bodyOf(type, message, code);
    expect(statusFailure(status, ANTHROPIC.error(body))).toMatchObject(expected);
    // An error in a stream has no status, and is classified in the same way.
    const inside = bodyFailure(chatError(body.error));
    expect(inside).toMatchObject({ ...expected, result: 'error_body' });
  });

  test.each([
    ['max_tokens: 100000 > 64000', 'max_completion_tokens'],
    ['messages.0.content.1.image.source.base64.data: too large', 'messages'],
    ['messages: at least one message is required', 'messages'],
    ['system.0: cache_control cannot be set for empty text blocks', 'messages'],
    ['tools.12.custom.input_schema.type: Field required', 'tools[12]'],
    ['tools: Tool names must be unique.', 'tools'],
    ['tool_choice.name: f not found', 'tool_choice'],
    ['stop_sequences.0: each stop sequence must contain non-whitespace', 'stop'],
    ['output_config.format.schema: invalid', 'response_format'],
    ['output_config.effort: invalid', 'reasoning_effort'],
    ['thinking.enabled.budget_tokens: too small', 'reasoning_effort'],
    ['metadata.user_id: too long', 'user'],
    ['`temperature` and `top_p` cannot both be specified for this model.', 'temperature'],
    ['top_p: out of range', 'top_p'],
    ['This model: it does not support prefill', null],
    ['constructor: x', null],
  ])('"%s" has the param %s', (message, param) => {
    expect(ANTHROPIC.error(bodyOf('invalid_request_error', message))).toMatchObject({ error: { param } });
  });

  test('of a gateway with a param keeps it', () => {
    const error = { message: 'tools: no.', type: 'invalid_request_error', code: 'invalid_value', param: 'seed' };
    expect(ANTHROPIC.error({ error })).toEqual({ error });
  });

  test('of any other form is returned unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        const isEnvelope = isObject(body) && isObject(body.error);
        if (!isEnvelope) expect(ANTHROPIC.error(body)).toBe(body);
      }),
    );
    expect(ANTHROPIC.error('<html>')).toBe('<html>');
    expect(ANTHROPIC.error(undefined)).toBeUndefined();
  });
});

describe('an error without a status', () => {
  // Errors of other endpoints of Anthropic cannot come here.
  const STATUS = {
    invalid_request_error: 400,
    authentication_error: 401,
    billing_error: 402,
    permission_error: 403,
    not_found_error: 404,
    rate_limit_error: 429,
    timeout_error: 504,
    api_error: 500,
    overloaded_error: 529,
    memory_precondition_failed_error: undefined,
    memory_path_conflict_error: undefined,
    conflict_error: undefined,
  } as const satisfies Record<ErrorType, number | undefined>;

  test.each(Object.entries(STATUS))('of the type %s has the status %s', (type, status) => {
    expect(chatError({ type, message: 'x' })).toEqual({
      error: { message: 'x', type, code: null, param: null, ...(status === undefined ? {} : { status }) },
    });
  });

  test.each([undefined, null, 'No.', 7, [], {}])('that is %o is a failure of the provider', (error) => {
    expect(bodyFailure(chatError(error))).toMatchObject({ code: 'upstream_error', retry: 'same' });
  });
});
