import { describe, expect, test } from 'vitest';
import { ERROR_CODES } from '#core/errors/error-codes.ts';
import { envelopeOf } from '#core/errors/refusal.ts';
import { admittedRequest } from '../admitted-request.fixture.ts';
import {
  bodyFailure,
  brokenStreamRefusal,
  envoyFailure,
  FAILURES,
  refusalOf,
  statusFailure,
} from './provider-failure.ts';

describe("what a provider's status means", () => {
  test.each([
    [400, 'invalid_request', 'none'],
    [422, 'invalid_request', 'none'],
    [401, 'upstream_config_error', 'next'],
    [403, 'upstream_config_error', 'next'],
    [404, 'upstream_config_error', 'next'],
    [408, 'request_timeout', 'same'],
    [504, 'request_timeout', 'same'],
    [429, 'no_capacity', 'same'],
    [529, 'no_capacity', 'same'],
    [500, 'upstream_error', 'same'],
    [502, 'upstream_error', 'same'],
    [503, 'upstream_error', 'same'],
    [599, 'upstream_error', 'same'],
    [301, 'upstream_error', 'next'],
    [307, 'upstream_error', 'next'],
    [402, 'no_capacity', 'next'],
    [409, 'upstream_error', 'next'],
    [413, 'invalid_request', 'next'],
    [418, 'upstream_error', 'next'],
  ])('%i is %s, retry %s', (status, code, retry) => {
    expect(statusFailure(status)).toMatchObject({ code, retry, result: `status_${status}` });
  });
});

describe("what Envoy's own replies mean", () => {
  test.each([
    ['UF', 'connect_failed', 'upstream_error', 'same'],
    ['UF,URX', 'connect_failed', 'upstream_error', 'same'],
    ['UH', 'ejected', 'no_capacity', 'next'],
    ['UO', 'overflow', 'no_capacity', 'next'],
    ['NC', 'no_cluster', 'upstream_config_error', 'next'],
    ['UT', 'envoy_timeout', 'request_timeout', 'same'],
    ['UC', 'reset', 'upstream_error', 'next'],
    ['UR', 'reset', 'upstream_error', 'next'],
    ['-', 'reset', 'upstream_error', 'next'],
  ])('%s is %s', (flags, result, code, retry) => {
    expect(envoyFailure(flags)).toMatchObject({ result, code, retry });
  });
});

describe('an error inside a 200', () => {
  test.each([
    [{ error: { message: 'x', code: 429 } }, 'no_capacity'],
    [{ error: { message: 'x', code: '401' } }, 'upstream_config_error'],
    [{ error: { message: 'x', status: 400 } }, 'invalid_request'],
    [{ error: { message: 'x', code: 'server_error' } }, 'upstream_error'],
    [{ error: { message: 'x', code: 200 } }, 'upstream_error'],
    [{ error: 'x' }, 'upstream_error'],
    [{}, 'upstream_error'],
  ])('%j is %s', (body, code) => {
    expect(bodyFailure(body)).toMatchObject({ code, result: 'error_body' });
  });
});

describe('what the client is told', () => {
  const told = (status: number, body?: unknown) =>
    envelopeOf(refusalOf(admittedRequest(), statusFailure(status, body))).error;

  test.each([
    [{ error: { message: 'Bad schema', param: 'tools[0]' } }, 'Bad schema', 'tools[0]'],
    [{ error: 'Bad schema' }, 'Bad schema', undefined],
    [{ message: 'Bad schema' }, 'Bad schema', undefined],
    [{ detail: 'Bad schema' }, 'Bad schema', undefined],
    [{ detail: [{ msg: 'Bad schema' }] }, 'Bad schema', undefined],
    [{ detail: [] }, 'The model rejected the request.', undefined],
    ['Bad schema', 'The model rejected the request.', undefined],
    [undefined, 'The model rejected the request.', undefined],
  ])('of %j', (body, message, param) => {
    expect(told(400, body)).toEqual({
      ...{ message, type: 'invalid_request_error', code: 'invalid_request', metadata: {} },
      ...(param === undefined ? {} : { param }),
    });
  });

  test('of a body that is too large, whatever the provider says', () => {
    const { code, message } = told(413, { error: { message: 'Request too large for organization org-abc' } });
    expect([code, message]).toEqual(['invalid_request', 'The request is too large for the provider of the model.']);
  });

  test('is cut to a bounded length', () => {
    expect(told(400, { error: { message: 'x'.repeat(5000) } }).message).toHaveLength(1000);
  });

  const context = (needed: number, window: number) =>
    `The prompt is too long: this request needs about ${needed} tokens (input plus output), more than the model's context window of ${window}.`;

  test.each([
    [
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
      130_000,
      128_000,
    ],
    [
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (6000 in the messages, 3000 in the completion).",
      9000,
      8192,
    ],
    ['prompt is too long: 210000 tokens > 200000 maximum', 210_000, 200_000],
    [
      'input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, decrease `max_tokens`',
      207_192,
      200_000,
    ],
    ['The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).', 1_200_000, 1_048_576],
    ['Prompt contains 40000 tokens, too large for model with 32768 maximum context length', 40_000, 32_768],
    ["This model's maximum prompt length is 131072 but the request contains 140000 tokens.", 140_000, 131_072],
    ['Input length 9000 exceeds maximum context length 8192', 9000, 8192],
    ['Maximum context length is 8,192 tokens, but 9,000 tokens were requested', 9000, 8192],
    ['prompt is too long: 1,200,000 tokens > 1,048,576 maximum', 1_200_000, 1_048_576],
  ])('has the numbers of a provider that says: %s', (message, needed, window) => {
    expect(told(400, { error: { message } }).message).toBe(context(needed, window));
  });

  test.each([
    'Your input exceeds the context window of this model.',
    'prompt is too long: 3 tokens > 7 maximum',
    'prompt is too long: 12345678901 tokens > 200000 maximum',
    'prompt is too long, as "210000 tokens > 200000 maximum" says',
  ])('has our own numbers for a provider that says: %s', (message) => {
    const { contextWindow } = admittedRequest().model;
    expect(told(400, { error: { message } }).message).toBe(context(contextWindow + 1, contextWindow));
  });

  // LangChain and LiteLLM go by these words; agents shorten the conversation or take another model.
  test('of a prompt that is too long has the words that frameworks look for', () => {
    expect(ERROR_CODES.context_length_exceeded.message).toContain('prompt is too long');
  });

  test('names the public model only, and nothing else of the provider', () => {
    const { message } = told(401, { error: { message: 'Key sk-1 is wrong' } });
    expect(message).toBe(ERROR_CODES.upstream_config_error.message.replace('{model}', 'public-model'));
  });

  test('of a broken stream is never a code that promises a free request', () => {
    const inBodies = [429, 400].map((code) => bodyFailure({ error: { code } }));
    const failures = [...Object.values(FAILURES), ...inBodies];
    const codes = new Set(failures.map((failure) => brokenStreamRefusal(failure).code));
    expect([...codes].sort()).toEqual(['request_timeout', 'upstream_error']);
  });
});

/** A 400 without a code that says more: its words alone decide. */
function accountOf(message: string): string | undefined {
  return statusFailure(400, { error: { message, type: 'invalid_request_error', param: null, code: null } }).account;
}

describe('words about', () => {
  test.each([
    'The API key you provided is invalid',
    'Invalid x-api-key',
    'No API key found in request',
    'Invalid token',
    'API token is invalid',
    'Could not validate credentials',
    'No auth credentials found',
    'You have insufficient permissions for this operation. Missing scopes: model.request.',
    'Your request was rejected because your organization has been suspended',
    'Organization org-abc123 is not allowed to use this model',
    'No such organization: org-abc123.',
    'The project you are requesting has been archived and cannot be used to generate content',
    'Permission denied on resource project my-proj.',
    'The OpenAI account associated with this API key has been deactivated.',
    "The model grok does not exist or your team 'x' does not have access to it",
  ])('credentials: %s', (message) => {
    expect(accountOf(message)).toBe('credentials');
  });

  test.each([
    'Not enough credits',
    'You have run out of credits',
    'Credits exhausted',
    'Project proj_abc has exceeded its budget',
    'The billing account for the owning project is disabled in state absent',
    'Quota exceeded for this organization',
    'spending limit reached for this workspace',
    'Your team has either used all available credits or reached its monthly spending limit.',
    'This request requires more credits, or fewer max_tokens. You can only afford 2000.',
  ])('money: %s', (message) => {
    expect(accountOf(message)).toBe('funds');
  });

  test.each([
    'Invalid schema for function get_credit_score',
    'Tool call get_credit_score has no response: check billing quota',
    'tools.0.function.name: get-organization-quota is too long',
    "Invalid type for 'messages[0].content': expected a string, not your account balance",
    'messages.1.content: Input should be a valid string (user asked: please check your billing details)',
    'Unrecognized request argument supplied: organization',
    `Unknown name "api_key" at 'tools[0]': Cannot find field.`,
    'The function `check_account_balance` is not defined',
    "Invalid value: 'unauthorized'. Supported values are: 'low', 'high'.",
    'Extra inputs are not permitted: credit_score, billing, quota',
    'tool_choice: organization_lookup not found in tools',
    'Tool names must be unique: get_organization, get_project',
    'Invalid token in logit_bias',
  ])('the request: %s', (message) => {
    expect(accountOf(message)).toBeUndefined();
  });
});

describe('error texts are found in', () => {
  test.each([
    { error: 'Invalid API key' },
    { error: { message: { text: 'Invalid API key' } } },
    { error: { error: { message: 'Invalid API key' } } },
    { detail: { reason: 'Invalid API key' } },
    { detail: [{ description: 'Invalid API key' }] },
    { errors: ['Invalid API key'] },
    ['Invalid API key'],
    [{ error: { message: 'Invalid API key' } }],
  ])('%j', (body) => {
    expect(statusFailure(400, body).account).toBe('credentials');
  });
});
