/**
 * Oddities of providers and the remedy for each, in code (`by`) or in `fields` of the
 * configuration, whose values for each provider are in docs/providers.md. They are reproduced with
 * recorded responses by provider-oddities.test.ts, or elsewhere by `test`.
 */
export interface Oddity {
  readonly oddity: string;
  readonly remedy: string;
  readonly by: readonly (readonly [file: string, symbol: string])[];
  readonly fields?: readonly string[];
  readonly sources: readonly string[];
  readonly test?: readonly [file: string, title: string];
}

const issue = (repository: string, number: number) => `https://github.com/${repository}/issues/${number}`;

export const ODDITIES = {
  'output-limit-name': {
    oddity: 'Reasoning models of OpenAI refuse max_tokens, Mistral refuses max_completion_tokens.',
    remedy: 'Both are accepted; the provider is sent one, in its own name.',
    by: [['ext-proc/chat/provider-body.ts', 'providerBody']],
    fields: ['output_limit_field'],
    sources: ['https://platform.openai.com/docs/api-reference/chat/create', issue('editor-code-assistant/eca', 231)],
  },
  'usage-always-asked': {
    oddity: 'A stream has a usage only if it was asked for.',
    remedy: 'It is always asked for, and hidden from a client that did not ask.',
    by: [
      ['ext-proc/chat/provider-body.ts', 'usageOptions'],
      ['ext-proc/delivery/stream/chat-stream.ts', 'ChatStream'],
    ],
    sources: ['https://platform.openai.com/docs/api-reference/chat/create'],
  },
  'usage-on-each-chunk': {
    oddity: 'Gemini sends the usage so far with every chunk.',
    remedy: 'The last one counts, and is sent alone before the end.',
    by: [
      ['ext-proc/delivery/response/response-meter.ts', 'ResponseMeter'],
      ['ext-proc/delivery/stream/chat-stream.ts', 'ChatStream'],
    ],
    sources: ['https://discuss.ai.google.dev/t/127400'],
  },
  'stream-options-refused': {
    oddity: 'Mistral has refused stream_options since 2024, and sends the usage without them.',
    remedy: 'They are left out; without a usage the tokens are counted.',
    by: [['ext-proc/chat/provider-body.ts', 'streamOptions']],
    fields: ['stream_options'],
    sources: [issue('mistralai/platform-docs-public', 7)],
  },
  'stream-endings': {
    oddity: 'Streams end without [DONE], by a reset behind the last finish reason, or within a line.',
    remedy: 'A stream is whole if every choice has a finish reason, else it ends with an error.',
    by: [['ext-proc/delivery/stream/stream-relay.ts', 'couldBeWhole']],
    sources: ['https://html.spec.whatwg.org/multipage/server-sent-events.html'],
    test: ['ext-proc/delivery/stream/broken-stream.test.ts', 'a clean end without finish reason'],
  },
  'errors-in-200': {
    oddity: 'Errors come in a 200: in the body, as an event, as event: error, as a finish reason.',
    remedy: 'Each is a failure of the attempt before the first output, and the final event after it.',
    by: [
      ['ext-proc/dialects/completion.ts', 'hasError'],
      ['ext-proc/delivery/response/stream-event.ts', 'meaningOf'],
    ],
    sources: ['https://openrouter.ai/docs/api-reference/errors'],
    test: ['ext-proc/delivery/stream/broken-stream.test.ts', 'a finish reason of error'],
  },
  'errors-in-array': {
    oddity: "Gemini's endpoint sends an error within an array.",
    remedy: 'Its words, names and status are read like those of any other.',
    by: [['ext-proc/delivery/provider/provider-words.ts', 'wordsOf']],
    sources: [issue('Vali-98/ChatterUI', 227)],
  },
  'errors-in-detail': {
    oddity: 'Mistral and FastAPI put their words into detail or message.detail, one entry a field.',
    remedy: 'The entries are the message, with the field of each.',
    by: [['ext-proc/delivery/provider/provider-words.ts', 'fieldIn']],
    sources: [issue('mistralai/platform-docs-public', 7), issue('editor-code-assistant/eca', 231)],
  },
  'reasoning-beside-completion': {
    oddity: 'xAI reports reasoning beside completion_tokens, and both in the total.',
    remedy: 'The completion is the total without the prompt.',
    by: [['ext-proc/delivery/response/usage.ts', 'readUsage']],
    sources: ['https://docs.x.ai/docs/guides/reasoning'],
  },
  'thinking-only-in-total': {
    oddity: 'Gemini shows its thinking in total_tokens alone.',
    remedy: 'The completion is the total without the prompt, the difference is reasoning.',
    by: [['ext-proc/delivery/response/usage.ts', 'totalMismatch']],
    sources: ['https://discuss.ai.google.dev/t/127400', issue('Clarifai/clarifai-python', 978)],
  },
  'usage-in-choice': {
    oddity: 'Moonshot sends the usage of a stream inside its last choice.',
    remedy: 'It is the usage, and is removed from the choice.',
    by: [
      ['ext-proc/dialects/completion.ts', 'asCompletion'],
      ['ext-proc/dialects/shown-members.ts', 'HIDDEN_INSIDE'],
    ],
    sources: [issue('earendil-works/pi', 2017)],
  },
  'cached-at-top': {
    oddity: 'DeepSeek reports prompt_cache_hit_tokens and Moonshot cached_tokens, without details.',
    remedy: 'They are the cached tokens, and are shown in prompt_tokens_details too.',
    by: [['ext-proc/delivery/response/usage.ts', 'cachedTokensOf']],
    sources: ['https://api-docs.deepseek.com/guides/kv_cache', issue('Bike4Mind/bike4mind', 1089)],
  },
  'cache-writes': {
    oddity: 'Tokens that were written into the cache have a price of their own, and other names at each provider.',
    remedy: 'They are part of the prompt, charged at the price for cache writes.',
    by: [
      ['core/price-kinds.ts', 'PRICE_KINDS'],
      ['ext-proc/delivery/response/usage.ts', 'cacheWritesOf'],
    ],
    fields: ['usd_per_million_tokens'],
    sources: ['https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching'],
  },
  'service-tier': {
    oddity: "service_tier: auto lets the provider's project choose a tier of another price.",
    remedy: 'It is sent as default; other tiers are refused, as no model has prices for them.',
    by: [['ext-proc/chat/service-fields.ts', 'checkServiceTier']],
    sources: ['https://platform.openai.com/docs/guides/priority-processing'],
  },
  'reasoning-text': {
    oddity: 'Reasoning is called reasoning_content, reasoning or reasoning_details, or is in the content.',
    remedy: 'It is passed on in the name that the provider gave it, and counted where no usage is.',
    by: [['ext-proc/dialects/completion.ts', 'reasoningTextOf']],
    sources: [
      'https://api-docs.deepseek.com/guides/reasoning_model',
      'https://docs.vllm.ai/en/latest/features/reasoning_outputs.html',
    ],
  },
  'calls-without-index': {
    oddity: 'Gemini leaves the index out of tool calls in a stream, Ollama gives all of them the same.',
    remedy: 'Each gets its own: a new id with a name begins a call.',
    by: [['ext-proc/delivery/response/call-deltas.ts', 'isOther']],
    sources: [issue('springfall2008/batpred', 4904), issue('ollama/ollama', 15457)],
  },
  'calls-named-again': {
    oddity: 'Deltas of a tool call repeat its name and id, or have empty ones.',
    remedy: 'Only the first delta has them. A call begins when its name is there.',
    by: [['ext-proc/delivery/response/call-deltas.ts', 'continued']],
    sources: [issue('NousResearch/hermes-agent', 8259), issue('vllm-project/vllm', 31438)],
    test: ['ext-proc/delivery/tool-calls.test.ts', 'the calls are the same in whatever form a provider writes them'],
  },
  signatures: {
    oddity: 'Gemini signs its thoughts in extra_content of a tool call, and wants it back.',
    remedy: 'It is passed on both ways as it came, and kept for calls that come back without it.',
    by: [['ext-proc/chat/edited-messages.ts', 'extraContentEdits']],
    fields: ['reasoning_memory'],
    sources: ['https://ai.google.dev/gemini-api/docs/thought-signatures'],
  },
  'developer-role': {
    oddity: 'Clients send the developer role to every model; Mistral, DeepSeek and Ollama know system.',
    remedy: 'The role is changed.',
    by: [['ext-proc/chat/edited-messages.ts', 'roleEdits']],
    fields: ['request.roles'],
    sources: [
      'https://api-docs.deepseek.com/api/create-chat-completion',
      'https://docs.ollama.com/api/openai-compatibility',
    ],
  },
  'empty-finish-reason': {
    oddity: "xAI's finish_reason is empty beside tool calls.",
    remedy: 'It is null in chunks; the end has stop or tool_calls, in JSON answers too.',
    by: [
      ['ext-proc/delivery/response/repairs.ts', 'reasonFor'],
      ['ext-proc/delivery/response/repairs.ts', 'repairWhole'],
    ],
    sources: ['https://github.com/BerriAI/litellm/blob/main/litellm/llms/xai/chat/transformation.py'],
  },
  'account-errors': {
    oddity: "The operator's lack of funds or a bad key comes as 400, 401, 402, 403 or 429.",
    remedy: 'The next target is asked, an alert is raised, and the client reads none of the words.',
    by: [['ext-proc/delivery/provider/account-error.ts', 'accountErrorOf']],
    sources: [issue('BerriAI/litellm', 37592)],
  },
  'context-overflow': {
    oddity: 'A prompt above the context window is a 400 in the words of each provider.',
    remedy: 'It is context_length_exceeded.',
    by: [['ext-proc/delivery/provider/account-error.ts', 'isContextError']],
    sources: ['https://platform.openai.com/docs/guides/error-codes'],
  },
  padding: {
    oddity: 'OpenAI pads its events with obfuscation against guesses from their length.',
    remedy: 'It is passed on, and padded chunks are recognized without being parsed.',
    by: [['ext-proc/delivery/stream/content-template.ts', 'PADDING']],
    sources: ['https://platform.openai.com/docs/api-reference/chat-streaming'],
  },
  'chunk-without-choices': {
    oddity: "Azure's first chunk has prompt_filter_results, no choices and an empty id.",
    remedy: 'It gets id and model of the others; a chunk without the array of choices is dropped.',
    by: [['ext-proc/dialects/completion.ts', 'asCompletion']],
    sources: [issue('Azure/azure-sdk-for-go', 21086), issue('openai/openai-python', 1266)],
  },
  silence: {
    oddity: 'A model that reasons is silent for minutes, and proxies cut silent streams.',
    remedy: 'Comment lines go to the client, and a silent target is not asked a second time.',
    by: [['ext-proc/delivery/stream/client-stream.ts', 'HEARTBEAT']],
    fields: ['timeouts.heartbeat', 'timeouts.first_byte'],
    sources: [issue('BerriAI/litellm', 14953)],
    test: ['ext-proc/delivery/stream/heartbeats.test.ts', 'the next target still serves'],
  },
  'provider-headers': {
    oddity: 'Azure wants its key as api-key, and others want headers of their own.',
    remedy: 'The header of the key and further headers are configured.',
    by: [['ext-proc/delivery/provider/provider-request.ts', 'keyHeader']],
    fields: ['auth', 'headers'],
    sources: ['https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle'],
  },
  query: {
    oddity: "Azure's deployments of before v1 want api-version in the query.",
    remedy: 'The query is configured.',
    by: [['ext-proc/delivery/provider/provider-request.ts', 'queryOf']],
    fields: ['query'],
    sources: ['https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle'],
  },
  'unknown-members': {
    oddity: 'Most providers refuse official members that they or the model do not know.',
    remedy: 'They are dropped or renamed for that provider; other APIs are sent their own members.',
    by: [['ext-proc/chat/request-shaping.ts', 'shapeMembers']],
    fields: ['request.drop', 'request.rename'],
    sources: [
      issue('Vali-98/ChatterUI', 227),
      issue('open-webui/open-webui', 21266),
      issue('mistralai/platform-docs-public', 7),
    ],
  },
  'tools-with-reasoning': {
    oddity: 'Chat completions of OpenAI refuse tools beside reasoning since GPT-5.4.',
    remedy: 'The models are asked over Responses, or without reasoning where there are tools.',
    by: [['ext-proc/dialects/responses/request.ts', 'responsesRequest']],
    fields: ['api', 'request.set_with_tools'],
    sources: [issue('openai/openai-openapi', 541)],
  },
  'extra-fields': {
    oddity: "Servers of one's own have fields beside the official ones.",
    remedy: 'Those that are declared are accepted and sent to the providers that take them.',
    by: [['ext-proc/chat/extra-fields.ts', 'withTargetsFor']],
    fields: ['extra_fields', 'extra_request_fields'],
    sources: ['https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html'],
  },
} as const satisfies Record<string, Oddity>;

export type OddityName = keyof typeof ODDITIES;
