import { LEAST_OUTPUT_TOKENS } from '#core/config/provider-api.ts';
import type { JsonObject } from '#core/json-object.ts';
import { present } from '#core/present.ts';
import { MANY_COMPLETIONS, type SentFields, type TranslatedRequest } from '../dialect.ts';
import { inputItems } from './input-items.ts';
import { responsesToolChoice, responsesTools, textFormat } from './tools.ts';

/** Fields that are the same in both APIs. */
const SAME = [
  ...['temperature', 'top_p', 'parallel_tool_calls', 'top_logprobs'],
  ...['prompt_cache_options', 'prompt_cache_retention'],
] as const;

/**
 * The body of `POST /responses`. Without counterpart, and left out: `stop`, `seed`, `logit_bias`,
 * `presence_penalty`, `frequency_penalty`, `prediction`, `metadata`, `modalities`. Nothing is
 * stored at the provider.
 */
export function responsesRequest(chat: JsonObject, sent: SentFields): TranslatedRequest {
  if (typeof chat.n === 'number' && chat.n > 1) return MANY_COMPLETIONS;
  const include = [
    ...(sent.isReasoning ? ['reasoning.encrypted_content'] : []),
    ...(chat.logprobs === true ? ['message.output_text.logprobs'] : []),
  ];
  const tools = responsesTools(chat.tools);
  const text = present({ format: textFormat(chat.response_format), verbosity: chat.verbosity });
  const reasoning = reasoningSettings(chat, sent);
  const body: JsonObject = {
    model: sent.model,
    input: inputItems(chat.messages),
    store: false,
    max_output_tokens: Math.max(sent.outputLimit, LEAST_OUTPUT_TOKENS.responses),
    ...(sent.stream ? streamSettings(chat) : {}),
    ...(include.length > 0 ? { include } : {}),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(Object.keys(text).length > 0 ? { text } : {}),
    ...(tools.length > 0 ? { tools } : {}),
    ...(chat.tool_choice === undefined ? {} : { tool_choice: responsesToolChoice(chat.tool_choice) }),
    ...(sent.serviceTier === undefined ? {} : { service_tier: sent.serviceTier }),
    ...Object.fromEntries(sent.identities),
  };
  for (const name of [...SAME, ...sent.extraFields]) {
    if (Object.hasOwn(chat, name)) body[name] = chat[name];
  }
  return { kind: 'body', body };
}

/** A summary is the only part of the reasoning that a client can read. */
function reasoningSettings(
  { reasoning_effort: effort }: JsonObject,
  { isReasoning }: SentFields,
): JsonObject | undefined {
  if (effort === 'none') return { effort };
  if (effort === undefined) return isReasoning ? { summary: 'auto' } : undefined;
  return { effort, summary: 'auto' };
}

/** There is no option for the usage: Responses always sends it. */
function streamSettings({ stream_options: options }: JsonObject): JsonObject {
  const hides = typeof options === 'object' && options !== null && 'include_obfuscation' in options;
  if (!hides) return { stream: true };
  return { stream: true, stream_options: { include_obfuscation: options.include_obfuscation } };
}
