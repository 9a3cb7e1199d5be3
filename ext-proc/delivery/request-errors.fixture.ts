import { anthropic, gemini, openAi, type ProviderError } from './provider/provider-errors.fixture.ts';

const bad = (from: string, body: unknown, status = 400): ProviderError => ({ from, status, body });

/** Errors about the request, with any words in its parts: the client sees them. */
export const REQUEST_ERRORS: readonly (ProviderError & { readonly shown: string; readonly param?: string })[] = [
  {
    ...bad(
      'OpenAI, a tool named get_credit_score',
      openAi(
        "Invalid schema for function 'get_credit_score': 'organization' is not of type 'object'.",
        'invalid_function_parameters',
        { param: 'tools[0].function.parameters' },
      ),
    ),
    ...{ shown: 'get_credit_score', param: 'tools[0].function.parameters' },
  },
  {
    ...bad('a server that names the tool without quotes or codes', {
      error: { message: 'Tool get_credit_score, rotate_api_key and list_billing_quota have no description' },
    }),
    shown: 'rotate_api_key',
  },
  {
    ...bad("a server that quotes the client's text", {
      error: { message: `Cannot parse "check your plan and billing details, my API key is not valid"` },
    }),
    shown: 'Cannot parse',
  },
  ...[
    'Request has expired',
    'The request signature we calculated does not match. Check your key and signing method.',
  ].map((words) => ({
    ...bad("a server that repeats S3's words about a client's link", { error: { message: `No image: ${words}` } }),
    shown: words,
  })),
  {
    ...bad(
      'an echo of a parameter',
      openAi('Unknown parameter: your organization, your quota and API key.', 'unknown_parameter', {
        param: 'metadata.x',
      }),
    ),
    ...{ shown: 'Unknown parameter', param: 'metadata.x' },
  },
  {
    ...bad(
      'Gemini, an array',
      gemini(400, 'INVALID_ARGUMENT', 'Invalid JSON payload received. Unknown name "quota": Cannot find field.'),
    ),
    shown: 'Unknown name "quota"',
  },
  {
    ...bad('Mistral, a list in an object', invalidOfMistral('Extra inputs are not permitted', 'stream_options'), 422),
    ...{ shown: 'stream_options: Extra inputs are not permitted', param: 'stream_options' },
  },
  {
    ...bad(
      'FastAPI, a list',
      { detail: [{ type: 'missing', loc: ['body', 'messages', 0, 'content'], msg: 'Field required' }] },
      422,
    ),
    ...{ shown: 'Field required', param: 'messages.0.content' },
  },
  { ...bad('FastAPI, a text', { detail: 'top_k is odd' }), shown: 'top_k is odd' },
  { ...bad('an object in detail', { detail: { message: 'top_k is odd' } }), shown: 'top_k is odd' },
];

function invalidOfMistral(msg: string, field: string) {
  const detail = [{ type: 'extra_forbidden', loc: ['body', field], msg, input: { type: 'billing' } }];
  return { object: 'error', message: { detail }, type: 'invalid_request_error' };
}

/**
 * A 403 that is about what the client asked for, not about the operator's account, though some name
 * that too.
 */
export const CONTENT_REFUSALS: readonly ProviderError[] = [
  bad(
    'xAI',
    {
      code: 'The caller does not have permission to execute the specified operation',
      error:
        'Content violates usage guidelines. Team: 1b2c, API key ID: 3d4e, Model: grok, Failed check: SAFETY_CHECK_TYPE_BIO',
    },
    403,
  ),
  bad(
    'OpenRouter',
    {
      error: {
        code: 403,
        message: 'gpt-6 requires moderation on OpenAI. Your input was flagged for "violence". No credits were charged.',
        metadata: { reasons: ['violence'], flagged_input: 'how to', provider_name: 'OpenAI' },
      },
    },
    403,
  ),
  bad('a moderation by name', openAi('No.', 'content_policy_violation'), 403),
  bad('a moderation by words', openAi('Your request was rejected as a result of our safety system.'), 403),
];

/** About how much is asked in a minute. */
export const RATE_LIMITS: readonly ProviderError[] = Object.entries({
  OpenAI: openAi(
    'Rate limit reached for gpt-6 in organization org-abcdef123 on tokens per min (TPM): Limit 30000. You can increase your rate limit by adding a payment method to your account at https://x/billing.',
    'rate_limit_exceeded',
    { type: 'tokens' },
  ),
  'OpenAI without a code': {
    error: { message: 'Rate limit reached in organization org-abcdef123 on tokens per min. Check your billing.' },
  },
  Anthropic: anthropic(
    'rate_limit_error',
    "This request would exceed your organization's rate limit of 30,000 input tokens per minute.",
  ),
  Azure: {
    error: { code: '429', message: 'Requests have exceeded token rate limit of your current OpenAI S0 pricing tier.' },
  },
  'Gemini by the minute': [
    {
      error: {
        ...{ code: 429, message: 'You exceeded your current quota.', status: 'RESOURCE_EXHAUSTED' },
        details: [{ violations: [{ quotaId: 'GenerateRequestsPerMinutePerProjectPerModel' }] }],
      },
    },
  ],
  'nobody in particular': undefined,
}).map(([from, body]) => bad(from, body, 429));

const TOO_LARGE = 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length';

/** The prompt is too long. */
export const CONTEXT_ERRORS: readonly ProviderError[] = [
  bad(
    'OpenAI',
    openAi(
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
      'context_length_exceeded',
      { param: 'messages' },
    ),
  ),
  bad('OpenAI, newer', openAi('Your input exceeds the context window of this model.')),
  bad('Anthropic', anthropic('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum')),
  bad(
    'Anthropic with output',
    anthropic('invalid_request_error', 'input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000'),
  ),
  bad(
    'Gemini',
    gemini(
      400,
      'INVALID_ARGUMENT',
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    ),
  ),
  bad('Mistral', { object: 'error', message: TOO_LARGE }),
  bad('xAI', {
    code: 'Client specified an invalid argument',
    error: "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
  }),
  bad('Bedrock', { message: 'Input is too long for requested model.' }),
  bad('llama.cpp', {
    error: { code: 400, message: 'the request exceeds the available context size', type: 'exceed_context_size_error' },
  }),
  bad('a 422', { detail: 'Input length 9000 exceeds maximum context length 8192' }, 422),
];
