import { isObject, type JsonObject } from '#core/json-object.ts';
import { present } from '#core/present.ts';
import { MANY_COMPLETIONS, type SentFields, type TranslatedRequest, type Unsayable } from '../dialect.ts';
import { conversationOf } from './conversation.ts';
import { closedSchema } from './output-schema.ts';
import { tierMembers } from './service-tier.ts';
import { thinkingSettings } from './thinking.ts';
import { toolSettings } from './tools.ts';

/**
 * The body of `POST /messages`. Without counterpart, and left out: `seed`, `logit_bias`,
 * `presence_penalty`, `frequency_penalty`, `logprobs`, `verbosity`, `prediction`, `metadata`,
 * `modalities`, `prompt_cache_key`, `prompt_cache_options`, `prompt_cache_retention`.
 */
export function messagesRequest(chat: JsonObject, sent: SentFields): TranslatedRequest {
  if (typeof chat.n === 'number' && chat.n > 1) return MANY_COMPLETIONS;
  const tier = tierMembers(sent.serviceTier);
  if (tier === undefined) return UNKNOWN_TIER;
  const tools = toolSettings(chat);
  if (tools.kind === 'unsayable') return tools;
  const { system, turns } = conversationOf(chat.messages);
  const { thinking, effort } = thinkingSettings(chat, sent, turns, tools.isForced);
  const isThinking = thinking !== undefined && thinking.type !== 'disabled';
  const output = present({ effort, format: outputFormat(chat.response_format) });
  const stops = stopSequences(chat.stop);
  const user = sent.identities.get('safety_identifier') ?? sent.identities.get('user');
  const body: JsonObject = {
    model: sent.model,
    max_tokens: sent.outputLimit,
    ...(system.length > 0 ? { system } : {}),
    messages: turns,
    ...(sent.stream ? { stream: true } : {}),
    ...tools.members,
    ...(thinking === undefined ? {} : { thinking }),
    ...(Object.keys(output).length > 0 ? { output_config: output } : {}),
    ...(stops.length > 0 ? { stop_sequences: stops } : {}),
    ...(isThinking ? {} : samplingSettings(chat)),
    ...(user === undefined ? {} : { metadata: { user_id: user } }),
    ...tier,
  };
  for (const name of sent.extraFields) {
    if (Object.hasOwn(chat, name) && !(isThinking && name === 'top_k')) body[name] = chat[name];
  }
  return { kind: 'body', body };
}

const UNKNOWN_TIER: Unsayable = {
  kind: 'unsayable',
  param: 'service_tier',
  problem: 'service_tier is not known to this model.',
};

const MOST_TEMPERATURE = 1;

/** Some models refuse the two together, and the newest refuse each. Shaping then drops them. */
function samplingSettings({ temperature, top_p }: JsonObject): JsonObject {
  return {
    ...(typeof temperature === 'number' ? { temperature: Math.min(temperature, MOST_TEMPERATURE) } : {}),
    ...(top_p === undefined ? {} : { top_p }),
  };
}

/** Anthropic refuses a stop sequence of white space only. */
function stopSequences(stop: unknown): unknown[] {
  const all = Array.isArray(stop) ? stop : [stop];
  return all.filter((text) => typeof text === 'string' && /\S/.test(text));
}

const ANY_OBJECT: JsonObject = { type: 'object' };

function outputFormat(format: unknown): JsonObject | undefined {
  const { type, json_schema: described }: JsonObject = isObject(format) ? format : {};
  if (type !== 'json_object' && (type !== 'json_schema' || !isObject(described))) return undefined;
  const given = type === 'json_schema' && isObject(described) ? described.schema : undefined;
  return { type: 'json_schema', schema: isObject(given) ? closedSchema(given) : ANY_OBJECT };
}
