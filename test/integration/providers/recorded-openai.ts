import { streamOf } from '#ext-proc/delivery/other-apis.fixture.ts';
import { SCENARIOS as MESSAGES } from '#ext-proc/dialects/anthropic/scenarios.fixture.ts';
import { scripted as scriptedMessage } from '#ext-proc/dialects/anthropic/scripted-stream.fixture.ts';
import { SCENARIOS as RESPONSES } from '#ext-proc/dialects/responses/scenarios.fixture.ts';
import { scripted as scriptedResponse } from '#ext-proc/dialects/responses/scripted-stream.fixture.ts';
import {
  called,
  chatMembersBut,
  chatStream,
  chunk,
  completion,
  type RecordedProvider,
  refusedAsOpenAi,
  usageChunk,
} from './recorded-provider.ts';

/** OpenAI, Azure and Anthropic. */

const LUNA = 'gpt-6-luna-2026-09-17';
const LUNA_USAGE = {
  ...{ prompt_tokens: 328, completion_tokens: 52, total_tokens: 380 },
  prompt_tokens_details: { cached_tokens: 128, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0, accepted_prediction_tokens: 0 },
};
const PADDED = { service_tier: 'default', system_fingerprint: null, usage: null };

/** GPT-6 over chat completions (https://platform.openai.com/docs/api-reference/chat). */
const OPENAI_CHAT: RecordedProvider = {
  providers: ['openai-chat'],
  shows: ['tools-with-reasoning', 'output-limit-name', 'padding', 'usage-always-asked', 'service-tier'],
  refuses: {
    allBut: [
      ...['model', 'messages', 'max_completion_tokens', 'n', 'stream', 'stream_options', 'seed', 'user', 'tools'],
      ...['tool_choice', 'parallel_tool_calls', 'response_format', 'reasoning_effort', 'safety_identifier'],
      ...['prompt_cache_key', 'verbosity', 'service_tier', 'store', 'metadata'],
    ],
  },
  refusal: refusedAsOpenAi,
  json: completion(
    LUNA,
    { content: null, refusal: null, tool_calls: [called('call_1', '{"city":"Paris"}')] },
    'tool_calls',
    LUNA_USAGE,
  ),
  stream: chatStream(
    chunk(LUNA, { role: 'assistant', content: null, refusal: null }, null, { ...PADDED, obfuscation: 'aQ' }),
    chunk(LUNA, { tool_calls: [{ index: 0, ...called('call_1', '') }] }, null, { ...PADDED, obfuscation: '' }),
    chunk(LUNA, { tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] }, null, {
      ...PADDED,
      obfuscation: 'x9K',
    }),
    chunk(LUNA, { tool_calls: [{ index: 0, function: { arguments: '"Paris"}' } }] }, null, {
      ...PADDED,
      obfuscation: 'r',
    }),
    chunk(LUNA, {}, 'tool_calls', { ...PADDED, obfuscation: 'PLo2' }),
    usageChunk(LUNA, LUNA_USAGE),
  ),
  error: {
    status: 429,
    body: {
      error: {
        message: 'You exceeded your current quota, please check your plan and billing details.',
        ...{ type: 'insufficient_quota', param: null, code: 'insufficient_quota' },
      },
    },
  },
  expected: {
    sent: [
      ...['max_completion_tokens', 'n', 'parallel_tool_calls', 'prompt_cache_key', 'reasoning_effort'],
      ...['response_format', 'safety_identifier', 'seed', 'service_tier', 'tool_choice', 'tools', 'user', 'verbosity'],
    ],
    values: { reasoning_effort: 'none', service_tier: 'default' },
    headers: { authorization: 'Bearer secret-of-OPENAI_API_KEY' },
    message: { content: null, tool_calls: [called('call_1', '{"city":"Paris"}')] },
    finishReason: 'tool_calls',
    usage: {
      prompt_tokens: 328,
      completion_tokens: 52,
      total_tokens: 380,
      prompt_tokens_details: { cached_tokens: 128 },
    },
    // 200 x 0.1 + 128 x 0.01 + 52 x 0.5 = 47.28 micro-dollars
    costUsd: { 'gpt-6-luna': 0.00004728 },
    error: ['503 no_capacity', /^(?!.*quota)/],
  },
};

const RESPONSES_EXPECTED: Omit<RecordedProvider['expected'], 'headers' | 'costUsd' | 'error'> = {
  sent: [
    ...['include', 'max_output_tokens', 'parallel_tool_calls', 'prompt_cache_key', 'reasoning', 'safety_identifier'],
    ...['service_tier', 'store', 'text', 'tool_choice', 'tools', 'top_logprobs', 'user'],
  ],
  values: { store: false, service_tier: 'default', max_output_tokens: 2000 },
  message: {
    tool_calls: [
      { id: 'call_paris', function: { name: 'get_weather', arguments: '{"location":"Paris, France"}' } },
      { id: 'call_bogota', function: { name: 'get_weather', arguments: '{"location":"Bogotá, Colombia"}' } },
    ],
  },
  finishReason: 'tool_calls',
  usage: { prompt_tokens: 328, completion_tokens: 52, prompt_tokens_details: { cached_tokens: 128 } },
};

/** https://platform.openai.com/docs/api-reference/responses */
const RESPONSES_MEMBERS = [
  ...['model', 'input', 'include', 'instructions', 'max_output_tokens', 'metadata', 'parallel_tool_calls', 'reasoning'],
  ...[
    'prompt_cache_key',
    'safety_identifier',
    'service_tier',
    'store',
    'stream',
    'stream_options',
    'text',
    'tool_choice',
  ],
  ...['tools', 'top_logprobs', 'truncation', 'user'],
];

const OPENAI_RESPONSES: RecordedProvider = {
  providers: ['openai'],
  shows: ['tools-with-reasoning', 'padding', 'context-overflow', 'cache-writes', 'unknown-members'],
  refuses: { allBut: RESPONSES_MEMBERS },
  refusal: refusedAsOpenAi,
  json: RESPONSES.PARALLEL_CALLS,
  stream: streamOf(scriptedResponse(RESPONSES.PARALLEL_CALLS)),
  error: {
    status: 400,
    body: {
      error: {
        message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
        ...{ type: 'invalid_request_error', param: 'input', code: 'context_length_exceeded' },
      },
    },
  },
  expected: {
    ...RESPONSES_EXPECTED,
    headers: { authorization: 'Bearer secret-of-OPENAI_API_KEY' },
    // 64 of the prompt are cache writes: 136 x 2 + 128 x 0.1 + 64 x 2.5 + 52 x 10 = 964.8
    // micro-dollars
    costUsd: { 'gpt-6.1-sol': 0.0009648 },
    error: ['400 context_length_exceeded', /./],
  },
};

const FILTER_RESULTS = {
  hate: { filtered: false, severity: 'safe' },
  jailbreak: { filtered: false, detected: false },
  violence: { filtered: false, severity: 'safe' },
};

/** https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter */
const AZURE_FILTERED = {
  status: 400,
  body: {
    error: {
      message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
      ...{ type: null, param: 'prompt', code: 'content_filter', status: 400 },
      innererror: { code: 'ResponsibleAIPolicyViolation', content_filter_result: { jailbreak: { filtered: true } } },
    },
  },
};

const azureOf = (provider: string, headers: RecordedProvider['expected']['headers']): RecordedProvider => ({
  ...OPENAI_RESPONSES,
  providers: [provider],
  shows: ['provider-headers'],
  json: { ...RESPONSES.PARALLEL_CALLS, content_filters: [{ blocked: false, content_filter_results: FILTER_RESULTS }] },
  error: AZURE_FILTERED,
  expected: {
    ...RESPONSES_EXPECTED,
    headers,
    // The usage of OpenAI: 136 x 0.1 + 128 x 0.01 + 64 x 0.125 + 52 x 0.5 = 48.88 micro-dollars
    costUsd: { 'gpt-6-luna': 0.00004888 },
    error: ['400 invalid_request', /content management policy/],
  },
});

const FORTY_ONE = 'gpt-4.1-2025-04-14';
const CLASSIC_USAGE = { prompt_tokens: 40, completion_tokens: 12, total_tokens: 52 };

/** A deployment of the API before v1, with the key in a header and the version in the query. */
const AZURE_CLASSIC: RecordedProvider = {
  providers: ['azure-classic'],
  shows: ['provider-headers', 'query', 'chunk-without-choices', 'usage-always-asked', 'unknown-members'],
  refuses: ['prompt_cache_key', 'safety_identifier', 'verbosity', 'service_tier', 'prediction'],
  refusal: (member) => ({
    status: 400,
    body: {
      error: {
        message: `Unrecognized request argument supplied: ${member}`,
        ...{ type: 'invalid_request_error', param: null, code: null },
      },
    },
  }),
  json: completion(FORTY_ONE, { content: 'Sunny.', refusal: null }, 'stop', CLASSIC_USAGE, {
    prompt_filter_results: [{ prompt_index: 0, content_filter_results: FILTER_RESULTS }],
  }),
  stream: chatStream(
    {
      ...{ choices: [], created: 0, id: '', model: '', object: '' },
      prompt_filter_results: [{ prompt_index: 0, content_filter_results: FILTER_RESULTS }],
    },
    chunk(FORTY_ONE, { role: 'assistant', content: '', refusal: null }, null, { usage: null }),
    chunk(FORTY_ONE, { content: 'Sunny.' }, null, { usage: null }),
    chunk(FORTY_ONE, {}, 'stop', { usage: null }),
    usageChunk(FORTY_ONE, CLASSIC_USAGE),
  ),
  error: AZURE_FILTERED,
  expected: {
    sent: [
      ...chatMembersBut(
        'prompt_cache_key',
        'safety_identifier',
        'verbosity',
        'service_tier',
        'prediction',
        'reasoning_effort',
      ),
      'max_tokens',
    ],
    headers: { 'api-key': 'secret-of-AZURE_API_KEY' },
    query: '?api-version=2024-10-21',
    message: { content: 'Sunny.' },
    finishReason: 'stop',
    usage: { prompt_tokens: 40, completion_tokens: 12, total_tokens: 52 },
    // 40 x 2 + 12 x 8 = 176 micro-dollars
    costUsd: { 'gpt-4.1': 0.000176 },
    error: ['400 invalid_request', /content management policy/],
  },
};

/** https://docs.anthropic.com/en/api/messages */
const ANTHROPIC: RecordedProvider = {
  providers: ['anthropic'],
  shows: ['unknown-members', 'account-errors', 'cache-writes', 'service-tier', 'output-limit-name'],
  refuses: {
    allBut: [
      ...['model', 'messages', 'max_tokens', 'system', 'stream', 'tools', 'tool_choice', 'thinking', 'output_config'],
      ...['stop_sequences', 'metadata', 'service_tier', 'cache_control'],
    ],
  },
  refusal: (member) => ({
    status: 400,
    body: {
      type: 'error',
      error: { type: 'invalid_request_error', message: `${member}: Extra inputs are not permitted` },
    },
  }),
  json: MESSAGES.PARALLEL_CALLS,
  stream: streamOf(scriptedMessage(MESSAGES.PARALLEL_CALLS)),
  error: {
    status: 400,
    body: {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'You have reached your specified API usage limits. You will regain access on 2026-12-01.',
      },
    },
  },
  expected: {
    sent: [
      ...['max_tokens', 'metadata', 'output_config', 'service_tier', 'stop_sequences', 'system', 'thinking'],
      ...['tool_choice', 'tools'],
    ],
    values: { service_tier: 'standard_only', max_tokens: 2000 },
    headers: { 'x-api-key': 'secret-of-ANTHROPIC_API_KEY', 'anthropic-version': '2023-06-01' },
    message: {
      content: 'I look it up.',
      tool_calls: [
        { id: 'toolu_01paris', function: { name: 'get_weather', arguments: '{"location":"Paris, France"}' } },
        {
          id: 'toolu_02bogota',
          function: { name: 'get_weather', arguments: '{"location":"Bogotá, Colombia","unit":"celsius"}' },
        },
      ],
    },
    finishReason: 'tool_calls',
    usage: { prompt_tokens: 2400, completion_tokens: 52, prompt_tokens_details: { cached_tokens: 2000 } },
    // 300 of the prompt are cache writes, 100 of them for an hour: in micro-dollars
    // 100 x 2 + 2000 x 0.1 + 200 x 2.5 + 100 x 4 + 52 x 10 = 1820
    // 100 x 1 + 2000 x 0.1 + 200 x 1.25 + 100 x 2 + 52 x 5 = 1010
    costUsd: { 'claude-sonnet-5-5': 0.00182, 'claude-haiku-4-5': 0.00101 },
    error: ['503 no_capacity', /^(?!.*usage limits)/],
  },
};

export const RECORDED_OPENAI: readonly RecordedProvider[] = [
  OPENAI_CHAT,
  OPENAI_RESPONSES,
  azureOf('azure', { 'api-key': 'secret-of-AZURE_API_KEY' }),
  azureOf('azure-entra', { authorization: 'Bearer stand-in' }),
  AZURE_CLASSIC,
  ANTHROPIC,
];
