import { describe, expect, test } from 'vitest';
import { statusFailure } from './provider-failure.ts';

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
