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

/** DeepSeek, Moonshot, vLLM and Ollama. */

const PRO = 'deepseek-v4-pro';
const PRO_USAGE = {
  ...{ prompt_tokens: 100, completion_tokens: 30, total_tokens: 130 },
  ...{ prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36 },
  completion_tokens_details: { reasoning_tokens: 20 },
};

/** https://api-docs.deepseek.com/api/create-chat-completion */
const DEEPSEEK: RecordedProvider = {
  providers: ['deepseek'],
  shows: ['cached-at-top', 'reasoning-text', 'developer-role', 'account-errors'],
  refuses: [],
  refusesRoles: ['developer'],
  refusal: (role) => ({
    status: 422,
    body: {
      error: {
        message: `Failed to deserialize the JSON body into the target type: messages[0].role: unknown variant \`${role}\``,
        ...{ type: 'invalid_request_error', param: null, code: 'invalid_request_error' },
      },
    },
  }),
  json: completion(PRO, { content: 'Sunny.', reasoning_content: 'Paris is sunny.' }, 'stop', PRO_USAGE),
  stream: chatStream(
    chunk(PRO, { role: 'assistant', content: null, reasoning_content: '' }),
    chunk(PRO, { content: null, reasoning_content: 'Paris is' }),
    chunk(PRO, { content: null, reasoning_content: ' sunny.' }),
    chunk(PRO, { content: 'Sunny.', reasoning_content: null }),
    chunk(PRO, { content: '', reasoning_content: null }, 'stop', { usage: PRO_USAGE }),
  ),
  error: {
    status: 402,
    body: {
      error: {
        message: 'Insufficient Balance',
        ...{ type: 'unknown_error', param: null, code: 'invalid_request_error' },
      },
    },
  },
  expected: {
    sent: [
      ...chatMembersBut('user', 'seed', 'logit_bias', 'safety_identifier', 'prompt_cache_key'),
      ...['max_tokens', 'thinking'],
    ],
    values: { thinking: { type: 'enabled' } },
    headers: { authorization: 'Bearer secret-of-DEEPSEEK_API_KEY' },
    message: { content: 'Sunny.', reasoning_content: 'Paris is sunny.' },
    finishReason: 'stop',
    usage: {
      ...{ prompt_tokens: 100, completion_tokens: 30, total_tokens: 130 },
      prompt_tokens_details: { cached_tokens: 64 },
      completion_tokens_details: { reasoning_tokens: 20 },
    },
    // 36 x 1.32 + 64 x 0.044 + 30 x 3.96 = 169.136 micro-dollars
    costUsd: { 'deepseek-v4-pro': 0.000169136 },
    error: ['503 no_capacity', /^(?!.*Balance)/],
  },
};

const KIMI = 'kimi-k3';
const KIMI_USAGE = { prompt_tokens: 1000, completion_tokens: 40, total_tokens: 1040, cached_tokens: 768 };
const KIMI_CALL = called('get_weather:0', '{"city":"Paris"}');

/**
 * earendil-works/pi#2017 (usage in the choice), Bike4Mind/bike4mind#1089 (cached tokens, fixed
 * temperature), promptfoo/promptfoo#9672 (other fixed values)
 */
const MOONSHOT: RecordedProvider = {
  providers: ['moonshot'],
  shows: ['usage-in-choice', 'cached-at-top', 'unknown-members', 'account-errors', 'reasoning-text'],
  refuses: ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty'],
  refusal: (member) => ({
    status: 400,
    body: {
      error: { message: `invalid ${member}: only 1 is allowed for this model`, type: 'invalid_request_error' },
    },
  }),
  json: completion(
    KIMI,
    { content: '', reasoning_content: 'Paris.', tool_calls: [KIMI_CALL] },
    'tool_calls',
    KIMI_USAGE,
  ),
  stream: chatStream(
    chunk(KIMI, { role: 'assistant', content: '' }),
    chunk(KIMI, { reasoning_content: 'Paris.' }),
    chunk(KIMI, { tool_calls: [{ index: 0, ...KIMI_CALL }] }),
    {
      ...{ id: 'chatcmpl-recorded', object: 'chat.completion.chunk', created: 1_790_000_000, model: KIMI },
      choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls', usage: KIMI_USAGE }],
    },
  ),
  error: {
    status: 429,
    body: {
      error: {
        message: 'Your account org-1 <ak-1> is suspended, please check your plan and billing details',
        type: 'exceeded_current_quota_error',
      },
    },
  },
  expected: {
    sent: [
      ...chatMembersBut('temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'seed', 'logit_bias'),
      'max_tokens',
    ],
    headers: { authorization: 'Bearer secret-of-MOONSHOT_API_KEY' },
    message: { reasoning_content: 'Paris.', tool_calls: [KIMI_CALL] },
    finishReason: 'tool_calls',
    usage: {
      ...{ prompt_tokens: 1000, completion_tokens: 40, total_tokens: 1040 },
      prompt_tokens_details: { cached_tokens: 768 },
    },
    // 232 x 3 + 768 x 0.3 + 40 x 15 = 1526.4 micro-dollars
    costUsd: { 'kimi-k3': 0.0015264 },
    error: ['503 no_capacity', /^(?!.*billing)/],
  },
};

const QWEN = 'Qwen/Qwen3-32B';
const QWEN_USAGE = { prompt_tokens: 30, completion_tokens: 12, total_tokens: 42, prompt_tokens_details: null };
const OF_VLLM = { prompt_logprobs: null, kv_transfer_params: null };

/** https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html */
const VLLM: RecordedProvider = {
  providers: ['vllm'],
  shows: ['context-overflow', 'extra-fields', 'reasoning-text', 'usage-always-asked'],
  refuses: [],
  refusal: refusedAsOpenAi,
  json: completion(QWEN, { content: 'Sunny.', reasoning_content: null, tool_calls: [] }, 'stop', QWEN_USAGE, OF_VLLM),
  stream: chatStream(
    chunk(QWEN, { role: 'assistant', content: '' }, null, { prompt_token_ids: null }),
    chunk(QWEN, { content: 'Sunny.' }, null, { token_ids: null }),
    chunk(QWEN, { content: '' }, 'stop', { stop_reason: null }),
    usageChunk(QWEN, QWEN_USAGE),
  ),
  error: {
    status: 400,
    body: {
      object: 'error',
      message: "This model's maximum context length is 40960 tokens. However, you requested 50000 tokens.",
      ...{ type: 'BadRequestError', param: null, code: 400 },
    },
  },
  expected: {
    sent: [
      ...chatMembersBut('safety_identifier', 'prompt_cache_key', 'verbosity', 'reasoning_effort'),
      ...['max_tokens', 'chat_template_kwargs', 'min_p', 'repetition_penalty', 'top_k'],
    ],
    values: { top_k: 20, chat_template_kwargs: { enable_thinking: false } },
    headers: {},
    message: { content: 'Sunny.' },
    finishReason: 'stop',
    usage: { prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 },
    // 30 x 0.1 + 12 x 0.4 = 7.8 micro-dollars
    costUsd: { 'qwen3-32b': 0.0000078 },
    error: ['400 context_length_exceeded', /./],
  },
};

const OSS = 'gpt-oss:20b';
const OSS_USAGE = { prompt_tokens: 70, completion_tokens: 25, total_tokens: 95 };

/** https://docs.ollama.com/api/openai-compatibility */
const OLLAMA: RecordedProvider = {
  providers: ['ollama'],
  shows: ['reasoning-text', 'developer-role', 'usage-always-asked'],
  refuses: [],
  refusesRoles: ['developer'],
  refusal: (role) => ({
    status: 400,
    body: { error: { message: `invalid role: ${role}`, type: 'invalid_request_error', param: null, code: null } },
  }),
  json: completion(OSS, { content: 'Sunny.', reasoning: 'Paris.' }, 'stop', OSS_USAGE, {
    system_fingerprint: 'fp_ollama',
  }),
  stream: chatStream(
    chunk(OSS, { role: 'assistant', content: '', reasoning: 'Paris.' }),
    chunk(OSS, { role: 'assistant', content: 'Sunny.' }),
    chunk(OSS, { role: 'assistant', content: '' }, 'stop'),
    usageChunk(OSS, OSS_USAGE),
  ),
  error: {
    status: 404,
    body: {
      error: { message: `model '${OSS}' not found`, type: 'not_found_error', param: null, code: null },
    },
  },
  expected: {
    sent: [
      ...CHAT_MEMBERS.filter(
        (member) =>
          !['logit_bias', 'user', 'safety_identifier', 'prompt_cache_key', 'verbosity', 'parallel_tool_calls'].includes(
            member,
          ),
      ),
      'max_tokens',
    ],
    headers: {},
    message: { content: 'Sunny.', reasoning: 'Paris.' },
    finishReason: 'stop',
    usage: { prompt_tokens: 70, completion_tokens: 25, total_tokens: 95 },
    // 70 x 0.05 + 25 x 0.2 = 8.5 micro-dollars
    costUsd: { 'gpt-oss-20b': 0.0000085 },
    error: ['500 upstream_config_error', /^(?!.*not found)/],
  },
};

export const RECORDED_OPEN_MODELS: readonly RecordedProvider[] = [DEEPSEEK, MOONSHOT, VLLM, OLLAMA];
