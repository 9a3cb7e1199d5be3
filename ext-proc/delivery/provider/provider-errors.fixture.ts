import type { AccountErrorKind } from '../../hold/attempt.ts';

/** Answers of providers, as their documentation, issues and users show them. */
export interface ProviderError {
  readonly from: string;
  readonly status: number;
  readonly body: unknown;
}

export interface AccountErrorFixture extends ProviderError {
  readonly kind: AccountErrorKind;
}

export const openAi = (message: string, code: string | null = null, more: { type?: string; param?: string } = {}) => ({
  error: { message, type: 'invalid_request_error', param: null, code, ...more },
});
export const anthropic = (type: string, message: string) => ({
  ...{ type: 'error', error: { type, message }, request_id: 'req_1' },
});
export const gemini = (code: number, status: string, message: string, reason?: string) => [
  {
    error: {
      ...{ code, message, status },
      details: reason === undefined ? [] : [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason }],
    },
  },
];

const DENIED = 'PERMISSION_DENIED';

/** About the operator's account: never the client's to read. */
export const ACCOUNT_ERRORS: readonly AccountErrorFixture[] = [
  ...credentials('OpenAI', 401, [
    openAi('Incorrect API key provided: sk-proj-****abcd. You can find your API key at https://x.', 'invalid_api_key'),
    openAi('You must be a member of an organization to use the API.'),
  ]),
  ...credentials('OpenAI', 403, [
    openAi('Project `proj_abc123` does not have access to model `gpt-6`', 'model_not_found'),
    openAi('Your account was flagged for violating our usage policies.'),
    openAi('Your request was rejected: this account is suspended.'),
    openAi('Country, region, or territory not supported', 'unsupported_country_region_territory', {
      type: 'request_forbidden',
    }),
  ]),
  ...credentials('OpenAI', 400, [
    openAi('Incorrect API key provided: sk-…abcd.'),
    openAi('Your organization must be verified to stream this model.', 'unsupported_value', { param: 'stream' }),
    openAi('OpenAI-Organization header should match organization for API key', 'mismatched_organization'),
    openAi('Your account is not active.', 'account_deactivated'),
  ]),
  ...funds('OpenAI', 429, [
    openAi('You exceeded your current quota, please check your plan and billing details.', 'insufficient_quota'),
    openAi('You exceeded your current quota, please check your plan and billing details.'),
    openAi('Billing hard limit has been reached', 'billing_hard_limit_reached'),
    openAi('Your account is not active, please check your billing details on our website.', 'billing_not_active'),
  ]),
  ...funds('OpenAI', 400, [openAi('Billing hard limit has been reached', 'billing_hard_limit_reached')]),
  ...credentials('Gemini', 400, [
    gemini(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', 'API_KEY_INVALID'),
    gemini(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'),
    gemini(400, 'INVALID_ARGUMENT', 'API key expired. Please renew the API key.', 'API_KEY_INVALID'),
    gemini(400, 'FAILED_PRECONDITION', 'User location is not supported for the API use.'),
  ]),
  ...credentials('Gemini', 403, [
    gemini(403, DENIED, 'Generative Language API has not been used in project 123456 before or it is disabled.'),
    gemini(403, DENIED, "Permission denied: Consumer 'api_key:AIza' has been suspended.", 'CONSUMER_SUSPENDED'),
  ]),
  ...funds('Gemini', 429, [
    gemini(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota, please check your plan and billing details.'),
  ]),
  ...funds('Gemini', 400, [gemini(400, 'FAILED_PRECONDITION', 'Please enable billing on project #123456789.')]),
  ...credentials('xAI', 400, [
    {
      code: 'Client specified an invalid argument',
      error: 'Incorrect API key provided: xa***9Q. You can obtain an API key from https://console.x.ai.',
    },
  ]),
  ...credentials('xAI', 403, [
    { code: 'The caller does not have permission to execute the specified operation', error: 'Team 1 is blocked.' },
  ]),
  ...funds('xAI', 403, [
    { code: 'permission-denied', error: 'Your newly created team has no credits. Purchase credits on https://x.ai.' },
  ]),
  ...funds('Anthropic', 400, [
    anthropic(
      'invalid_request_error',
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.',
    ),
    anthropic(
      'invalid_request_error',
      'You have reached your specified API usage limits. You will regain access on 2026-12-01.',
    ),
  ]),
  ...credentials('Anthropic', 400, [anthropic('invalid_request_error', 'This organization has been disabled.')]),
  ...credentials('Anthropic', 403, [anthropic('permission_error', 'Your API key does not have permission.')]),
  ...funds('Anthropic', 402, [anthropic('billing_error', 'There is an issue with your billing.')]),
  ...credentials('Mistral', 401, [{ message: 'Unauthorized', request_id: 'r' }, { detail: 'Unauthorized' }]),
  ...funds('Mistral', 402, [{ detail: { message: 'Workspace spend limit reached', code: 'payment_required' } }]),
  ...funds('DeepSeek', 402, [openAi('Insufficient Balance', 'invalid_request_error', { type: 'unknown_error' })]),
  ...credentials('DeepSeek', 401, [
    openAi('Authentication Fails, Your api key: ****abcd is invalid', 'invalid_request_error'),
  ]),
  ...credentials('Azure', 401, [
    { error: { code: '401', message: 'Access denied due to invalid subscription key or wrong API endpoint.' } },
    {
      statusCode: 401,
      message: 'Unauthorized. Access token is missing, invalid, audience is incorrect, or have expired.',
    },
  ]),
  ...credentials('Azure', 403, [{ error: { code: 'Forbidden', message: 'Public access is disabled.' } }]),
  ...credentials('Bedrock', 400, [
    { __type: 'UnrecognizedClientException', message: 'The security token included in the request is invalid.' },
    { message: "You don't have access to the model with the specified model ID." },
    { __type: 'com.amazon.coral.service#InvalidSignatureException', message: 'It does not match.' },
    { __type: 'IncompleteSignature', message: 'It is not complete.' },
    { __type: 'RequestExpired', message: 'It came too late.' },
    { message: 'Signature expired: 20261130T160000Z is now earlier than 20261130T163500Z (… - 5 min.)' },
    { message: 'Signature not yet current: 20261130T170000Z is still later than 20261130T165500Z' },
    {
      message:
        'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.',
    },
    { message: "Authorization header requires 'Credential' parameter." },
    { message: 'Request has expired. Timestamp date is 2026-11-30T16:00:00Z.' },
  ]),
  ...funds('OpenRouter', 402, [{ error: { message: 'Insufficient credits. Add more using https://x.', code: 402 } }]),
  ...funds('Moonshot', 429, [
    openAi('Your account is suspended, please recharge.', null, { type: 'exceeded_current_quota_error' }),
  ]),
  ...funds('Qwen', 400, [
    openAi('Access denied, please make sure your account is in good standing.', 'Arrearage', { type: 'Arrearage' }),
  ]),
  ...funds('Z.ai', 429, [
    { error: { code: '1113', message: 'Insufficient balance or no resource package. Please recharge.' } },
  ]),
  ...credentials('a FastAPI server', 422, [
    {
      detail: [
        { type: 'value_error.missing_credentials', loc: ['header', 'authorization'], msg: 'No credentials provided' },
      ],
    },
  ]),
  ...credentials('a server without JSON', 400, ['Invalid API key']),
];

function credentials(from: string, status: number, bodies: readonly unknown[]): AccountErrorFixture[] {
  return bodies.map((body) => ({ from, status, body, kind: 'credentials' }));
}

function funds(from: string, status: number, bodies: readonly unknown[]): AccountErrorFixture[] {
  return bodies.map((body) => ({ from, status, body, kind: 'funds' }));
}
