import { anthropic, gemini, openAi, type ProviderError } from './provider/provider-errors.fixture.ts';

/** Errors about the request, with any words in its parts: the client sees them. */
export const REQUEST_ERRORS: readonly (ProviderError & { readonly shown: string; readonly param?: string })[] = [
  {
    from: 'OpenAI, a tool named get_credit_score',
    status: 400,
    body: openAi(
      "Invalid schema for function 'get_credit_score': 'organization' is not of type 'object'.",
      'invalid_function_parameters',
      undefined,
      'tools[0].function.parameters',
    ),
    shown: 'get_credit_score',
    param: 'tools[0].function.parameters',
  },
  {
    from: 'a server that names the tool without quotes or codes',
    status: 400,
    body: { error: { message: 'Tool get_credit_score, rotate_api_key and list_billing_quota have no description' } },
    shown: 'rotate_api_key',
  },
  {
    from: "a server that quotes the client's text",
    status: 400,
    body: { error: { message: `Cannot parse "check your plan and billing details, my API key is not valid"` } },
    shown: 'Cannot parse',
  },
  {
    from: 'an echo of a parameter',
    status: 400,
    body: openAi(
      'Unknown parameter: your organization, your quota and API key.',
      'unknown_parameter',
      undefined,
      'metadata.x',
    ),
    shown: 'Unknown parameter',
    param: 'metadata.x',
  },
  {
    from: 'Gemini, an array',
    status: 400,
    body: gemini(400, 'Invalid JSON payload received. Unknown name "quota": Cannot find field.', 'INVALID_ARGUMENT'),
    shown: 'Unknown name "quota"',
  },
  {
    from: 'Mistral, a list in an object',
    status: 422,
    body: {
      object: 'error',
      message: {
        detail: [
          {
            type: 'extra_forbidden',
            loc: ['body', 'stream_options'],
            msg: 'Extra inputs are not permitted',
            input: { type: 'billing' },
          },
        ],
      },
      type: 'invalid_request_error',
    },
    shown: 'stream_options: Extra inputs are not permitted',
    param: 'stream_options',
  },
  {
    from: 'FastAPI, a list',
    status: 422,
    body: { detail: [{ type: 'missing', loc: ['body', 'messages', 0, 'content'], msg: 'Field required' }] },
    shown: 'Field required',
    param: 'messages.0.content',
  },
  { from: 'FastAPI, a text', status: 400, body: { detail: 'top_k is odd' }, shown: 'top_k is odd' },
  { from: 'an object in detail', status: 400, body: { detail: { message: 'top_k is odd' } }, shown: 'top_k is odd' },
];

/**
 * A 403 that is about what the client asked for, not about the operator's account, though some name
 * that too.
 */
export const CONTENT_REFUSALS: readonly ProviderError[] = [
  {
    from: 'xAI',
    status: 403,
    body: {
      code: 'The caller does not have permission to execute the specified operation',
      error:
        'Content violates usage guidelines. Team: 1b2c, API key ID: 3d4e, Model: grok, Failed check: SAFETY_CHECK_TYPE_BIO',
    },
  },
  {
    from: 'OpenRouter',
    status: 403,
    body: {
      error: {
        code: 403,
        message: 'gpt-6 requires moderation on OpenAI. Your input was flagged for "violence". No credits were charged.',
        metadata: { reasons: ['violence'], flagged_input: 'how to', provider_name: 'OpenAI' },
      },
    },
  },
  { from: 'a moderation by name', status: 403, body: openAi('No.', 'content_policy_violation') },
  {
    from: 'a moderation by words',
    status: 403,
    body: openAi('Your request was rejected as a result of our safety system.'),
  },
];

/** About how much is asked in a minute. */
export const RATE_LIMITS: readonly ProviderError[] = [
  {
    from: 'OpenAI',
    status: 429,
    body: openAi(
      'Rate limit reached for gpt-6 in organization org-abcdef123 on tokens per min (TPM): Limit 30000. You can increase your rate limit by adding a payment method to your account at https://x/billing.',
      'rate_limit_exceeded',
      'tokens',
    ),
  },
  {
    from: 'OpenAI without a code',
    status: 429,
    body: {
      error: { message: 'Rate limit reached in organization org-abcdef123 on tokens per min. Check your billing.' },
    },
  },
  {
    from: 'Anthropic',
    status: 429,
    body: anthropic(
      'rate_limit_error',
      "This request would exceed your organization's rate limit of 30,000 input tokens per minute.",
    ),
  },
  {
    from: 'Azure',
    status: 429,
    body: {
      error: {
        code: '429',
        message: 'Requests have exceeded token rate limit of your current OpenAI S0 pricing tier.',
      },
    },
  },
  {
    from: 'Gemini by the minute',
    status: 429,
    body: [
      {
        error: {
          ...{ code: 429, message: 'You exceeded your current quota.', status: 'RESOURCE_EXHAUSTED' },
          details: [{ violations: [{ quotaId: 'GenerateRequestsPerMinutePerProjectPerModel' }] }],
        },
      },
    ],
  },
  { from: 'nobody in particular', status: 429, body: undefined },
];

/** The prompt is too long. */
export const CONTEXT_ERRORS: readonly ProviderError[] = [
  {
    from: 'OpenAI',
    status: 400,
    body: openAi(
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
      'context_length_exceeded',
      undefined,
      'messages',
    ),
  },
  { from: 'OpenAI, newer', status: 400, body: openAi('Your input exceeds the context window of this model.') },
  {
    from: 'Anthropic',
    status: 400,
    body: anthropic('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
  },
  {
    from: 'Anthropic with output',
    status: 400,
    body: anthropic(
      'invalid_request_error',
      'input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000',
    ),
  },
  {
    from: 'Gemini',
    status: 400,
    body: gemini(
      400,
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      'INVALID_ARGUMENT',
    ),
  },
  {
    from: 'Mistral',
    status: 400,
    body: {
      object: 'error',
      message: 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length',
    },
  },
  {
    from: 'xAI',
    status: 400,
    body: {
      code: 'Client specified an invalid argument',
      error: "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    },
  },
  { from: 'Bedrock', status: 400, body: { message: 'Input is too long for requested model.' } },
  {
    from: 'llama.cpp',
    status: 400,
    body: {
      error: {
        code: 400,
        message: 'the request exceeds the available context size',
        type: 'exceed_context_size_error',
      },
    },
  },
  { from: 'a 422', status: 422, body: { detail: 'Input length 9000 exceeds maximum context length 8192' } },
];
