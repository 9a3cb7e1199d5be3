import {
  CHAT_MEMBERS,
  called,
  chatMembersBut,
  chatStream,
  chunk,
  completion,
  type RecordedProvider,
  refusedAsOpenAi,
  usageChunk,
} from './recorded-provider.ts';

/** Google, Mistral, xAI, Cohere and Bedrock. */

const FLASH = 'gemini-3.8-flash';
/** The numbers of https://discuss.ai.google.dev/t/127400: 93 tokens of thinking. */
const FLASH_USAGE = { completion_tokens: 3, prompt_tokens: 9, total_tokens: 105 };
const SIGNATURE = { google: { thought_signature: 'CikBjz1rX6' } };
const FLASH_CALL = { ...called('function-call-1', '{"city":"Paris"}'), extra_content: SIGNATURE };

/** https://ai.google.dev/gemini-api/docs/openai, Vali-98/ChatterUI#227, MinLL/SkyrimNet-GamePlugin#77 */
const GEMINI: RecordedProvider = {
  providers: ['google', 'vertex', 'vertex-by-file'],
  shows: [
    ...(['thinking-only-in-total', 'usage-on-each-chunk', 'calls-without-index', 'errors-in-array'] as const),
    ...(['unknown-members', 'signatures', 'account-errors'] as const),
  ],
  refuses: {
    allBut: [
      ...['model', 'messages', 'max_tokens', 'max_completion_tokens', 'n', 'stream', 'stream_options', 'temperature'],
      ...['top_p', 'stop', 'tools', 'tool_choice', 'response_format', 'reasoning_effort', 'extra_body'],
    ],
  },
  refusal: (member) => ({
    status: 400,
    body: [
      {
        error: {
          code: 400,
          message: `Invalid JSON payload received. Unknown name "${member}": Cannot find field.`,
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
  }),
  json: completion(FLASH, { tool_calls: [FLASH_CALL] }, 'tool_calls', FLASH_USAGE),
  stream: chatStream(
    chunk(FLASH, { role: 'assistant', tool_calls: [FLASH_CALL] }, null, {
      usage: { ...FLASH_USAGE, completion_tokens: 0, total_tokens: 102 },
    }),
    chunk(FLASH, { role: 'assistant' }, 'tool_calls', { usage: FLASH_USAGE }),
  ),
  error: {
    status: 400,
    body: [
      {
        error: {
          ...{ code: 400, message: 'API key not valid. Please pass a valid API key.', status: 'INVALID_ARGUMENT' },
          details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }],
        },
      },
    ],
  },
  expected: {
    sent: ['max_tokens', 'n', 'reasoning_effort', 'response_format', 'stop', 'tool_choice', 'tools'],
    headers: {},
    message: { tool_calls: [FLASH_CALL] },
    finishReason: 'tool_calls',
    usage: {
      ...{ prompt_tokens: 9, completion_tokens: 96, total_tokens: 105 },
      completion_tokens_details: { reasoning_tokens: 93 },
    },
    // 9 x 0.75 + 96 x 3.75 = 366.75 micro-dollars
    costUsd: { 'gemini-3.8-flash': 0.00036675 },
    error: ['500 upstream_config_error', /^(?!.*API key)/],
  },
};

const LARGE = 'mistral-large-4';
const LARGE_USAGE = { prompt_tokens: 50, total_tokens: 60, completion_tokens: 10, num_cached_tokens: 0 };
const LARGE_CALL = { id: 'D681PevKs', function: { name: 'get_weather', arguments: '{"city": "Paris"}' }, index: 0 };

/** https://docs.mistral.ai/api, mistralai/platform-docs-public#7, editor-code-assistant/eca#231 */
const MISTRAL: RecordedProvider = {
  providers: ['mistral'],
  shows: ['unknown-members', 'stream-options-refused', 'errors-in-detail', 'developer-role', 'output-limit-name'],
  refuses: {
    allBut: [
      ...['model', 'messages', 'max_tokens', 'n', 'stream', 'temperature', 'top_p', 'stop', 'random_seed', 'tools'],
      ...['tool_choice', 'parallel_tool_calls', 'response_format', 'presence_penalty', 'frequency_penalty'],
      ...['prediction', 'prompt_mode', 'reasoning_effort', 'safe_prompt', 'metadata', 'guardrails'],
    ],
  },
  refusesRoles: ['developer'],
  refusal: (member) => ({
    status: 422,
    body: {
      object: 'error',
      message: {
        detail: [{ type: 'extra_forbidden', loc: ['body', member], msg: 'Extra inputs are not permitted', input: 7 }],
      },
      ...{ type: 'invalid_request_error', param: null, code: null },
    },
  }),
  json: completion(LARGE, { content: '', tool_calls: [LARGE_CALL] }, 'tool_calls', LARGE_USAGE),
  stream: chatStream(
    chunk(LARGE, { role: 'assistant', content: '' }),
    chunk(LARGE, { tool_calls: [LARGE_CALL] }, 'tool_calls', { usage: LARGE_USAGE, p: 'abcdefgh' }),
  ),
  error: {
    status: 422,
    body: {
      object: 'error',
      message: {
        detail: [
          {
            ...{ type: 'less_than_equal', loc: ['body', 'temperature'], input: 2 },
            msg: 'Input should be less than or equal to 1.5',
          },
        ],
      },
      ...{ type: 'invalid_request_error', param: null, code: null },
    },
  },
  expected: {
    sent: [
      ...['frequency_penalty', 'max_tokens', 'n', 'parallel_tool_calls', 'prediction', 'presence_penalty'],
      ...['random_seed', 'reasoning_effort', 'response_format', 'stop', 'temperature', 'tool_choice', 'tools', 'top_p'],
    ],
    values: { random_seed: 7 },
    headers: { authorization: 'Bearer secret-of-MISTRAL_API_KEY' },
    message: { tool_calls: [{ id: 'D681PevKs', function: { name: 'get_weather', arguments: '{"city": "Paris"}' } }] },
    finishReason: 'tool_calls',
    usage: { prompt_tokens: 50, completion_tokens: 10, total_tokens: 60 },
    // 50 x 0.7 + 10 x 2.1 = 56 micro-dollars
    costUsd: { 'mistral-large-4': 0.000056 },
    error: ['400 invalid_request', /temperature: Input should be less than or equal to 1\.5/],
  },
};

const GROK = 'grok-4.7';
const GROK_USAGE = {
  ...{ prompt_tokens: 41, completion_tokens: 10, total_tokens: 151, num_sources_used: 0, cost_in_usd_ticks: 4170000 },
  prompt_tokens_details: { text_tokens: 41, audio_tokens: 0, image_tokens: 0, cached_tokens: 8 },
  completion_tokens_details: { reasoning_tokens: 100, audio_tokens: 0, accepted_prediction_tokens: 0 },
};
const GROK_CALL = called('call_21473118', '{"city":"Paris"}');

/** https://docs.x.ai/docs/api-reference, open-webui/open-webui#21266, langchain-ai/langchain#38335 */
const XAI: RecordedProvider = {
  providers: ['xai'],
  shows: ['reasoning-beside-completion', 'empty-finish-reason', 'unknown-members', 'reasoning-text', 'account-errors'],
  refuses: ['stop', 'presence_penalty', 'frequency_penalty', 'logit_bias'],
  refusal: (member) => ({
    status: 400,
    body: {
      code: 'Client specified an invalid argument',
      error: `Model ${GROK} does not support parameter ${member}.`,
    },
  }),
  json: completion(
    GROK,
    { content: '', reasoning_content: 'Paris.', tool_calls: [GROK_CALL], refusal: null },
    '',
    GROK_USAGE,
  ),
  stream: chatStream(
    chunk(GROK, { role: 'assistant', reasoning_content: 'Paris.' }, ''),
    chunk(GROK, { role: 'assistant', tool_calls: [{ ...GROK_CALL, index: 0 }] }, ''),
    usageChunk(GROK, GROK_USAGE),
  ),
  error: {
    status: 403,
    body: {
      code: 'permission-denied',
      error: 'Your newly created team has no credits. Purchase credits on https://console.x.ai.',
    },
  },
  expected: {
    sent: [...chatMembersBut('stop', 'presence_penalty', 'frequency_penalty', 'logit_bias'), 'max_tokens'],
    headers: { authorization: 'Bearer secret-of-XAI_API_KEY' },
    message: { reasoning_content: 'Paris.', tool_calls: [GROK_CALL] },
    finishReason: 'tool_calls',
    usage: {
      ...{ prompt_tokens: 41, completion_tokens: 110, total_tokens: 151 },
      prompt_tokens_details: { cached_tokens: 8 },
      completion_tokens_details: { reasoning_tokens: 100 },
    },
    // 33 x 2 + 8 x 0.5 + 110 x 6 = 730 micro-dollars
    costUsd: { 'grok-4.7': 0.00073 },
    error: ['503 no_capacity', /^(?!.*credits)/],
  },
};

const COMMAND = 'command-a-03-2025';
const COMMAND_USAGE = { prompt_tokens: 20, completion_tokens: 6, total_tokens: 26 };

/** https://docs.cohere.com/docs/compatibility-api, "Supported parameters" */
const COHERE: RecordedProvider = {
  providers: ['cohere'],
  shows: ['unknown-members'],
  refuses: {
    allBut: [
      ...['model', 'messages', 'stream', 'reasoning_effort', 'response_format', 'tools', 'tool_choice', 'temperature'],
      ...['max_tokens', 'stop', 'seed', 'top_p', 'frequency_penalty', 'presence_penalty', 'stream_options', 'logprobs'],
      'n',
    ],
  },
  refusal: (member) => ({ status: 422, body: { id: 'c1', message: `unknown parameter: ${member}` } }),
  json: completion(COMMAND, { content: 'Sunny.' }, 'stop', COMMAND_USAGE),
  stream: chatStream(
    chunk(COMMAND, { role: 'assistant', content: '' }),
    chunk(COMMAND, { content: 'Sunny.' }),
    chunk(COMMAND, {}, 'stop'),
    usageChunk(COMMAND, COMMAND_USAGE),
  ),
  error: { status: 429, body: { message: 'Please wait and try again later', id: 'c2' } },
  expected: {
    sent: [
      ...['frequency_penalty', 'logprobs', 'max_tokens', 'n', 'presence_penalty', 'reasoning_effort'],
      ...['response_format', 'seed', 'stop', 'temperature', 'tool_choice', 'tools', 'top_p'],
    ],
    headers: { authorization: 'Bearer secret-of-COHERE_API_KEY' },
    message: { content: 'Sunny.' },
    finishReason: 'stop',
    usage: { prompt_tokens: 20, completion_tokens: 6, total_tokens: 26 },
    // 20 x 2.5 + 6 x 10 = 110 micro-dollars
    costUsd: { 'command-a': 0.00011 },
    error: ['503 no_capacity', /./],
  },
};

const GPT_OSS = 'openai.gpt-oss-120b-1:0';
const GPT_OSS_USAGE = { prompt_tokens: 60, completion_tokens: 20, total_tokens: 80 };

/** https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html */
const BEDROCK: RecordedProvider = {
  providers: ['bedrock'],
  shows: ['usage-always-asked', 'reasoning-text'],
  refuses: [],
  refusal: refusedAsOpenAi,
  json: completion(GPT_OSS, { content: '<reasoning>Brief.</reasoning>Sunny.', refusal: null }, 'stop', GPT_OSS_USAGE, {
    service_tier: 'default',
  }),
  stream: chatStream(
    chunk(GPT_OSS, { role: 'assistant', content: '' }),
    chunk(GPT_OSS, { content: '<reasoning>Brief.</reasoning>' }),
    chunk(GPT_OSS, { content: 'Sunny.' }),
    chunk(GPT_OSS, {}, 'stop'),
    usageChunk(GPT_OSS, GPT_OSS_USAGE),
  ),
  error: {
    status: 400,
    body: { __type: 'ValidationException', message: "You don't have access to the model with the specified model ID." },
  },
  expected: {
    sent: [...CHAT_MEMBERS.filter((member) => member !== 'response_format'), 'max_tokens'],
    headers: { authorization: 'Bearer stand-in' },
    message: { content: '<reasoning>Brief.</reasoning>Sunny.' },
    finishReason: 'stop',
    usage: { prompt_tokens: 60, completion_tokens: 20, total_tokens: 80 },
    // 60 x 0.15 + 20 x 0.6 = 21 micro-dollars
    costUsd: { 'gpt-oss-120b': 0.000021 },
    error: ['500 upstream_config_error', /^(?!.*access to the model)/],
  },
};

export const RECORDED_CLOUDS: readonly RecordedProvider[] = [GEMINI, MISTRAL, XAI, COHERE, BEDROCK];
