import type { RequestShaping } from '#core/config/gateway-config.ts';
import type { ProviderApi } from '#core/config/provider-api.ts';
import { isObject, type JsonObject } from '#core/json-object.ts';
import { shapeObject } from '../../chat/request-shaping.ts';
import type { SentFields, Unsayable } from '../../dialects/dialect.ts';
import { parseExactly } from '../../dialects/exact-json.ts';
import { withoutToolMedia } from '../../dialects/tool-media.ts';
import type { AddedReasoning } from '../../reasoning/request-reasoning.ts';
import { DIALECTS } from './dialects.ts';

/**
 * A chat body that must be translated for a target: the target speaks another API, or it speaks
 * chat and tool results contain media. Only in the second case is kept reasoning inserted already.
 */
export interface TranslationJob {
  readonly bytes: Uint8Array;
  readonly api: ProviderApi;
  readonly fields: Omit<SentFields, 'identities' | 'serviceTier'>;
  readonly shaping: readonly RequestShaping[];
  /** Reasoning that the client has not sent back. */
  readonly reasoning: readonly AddedReasoning[];
}

export type TranslatedBody = { readonly kind: 'body'; readonly bytes: Uint8Array } | Unsayable;

const IDENTITIES = ['user', 'safety_identifier', 'prompt_cache_key'] as const;

/** Also runs in a worker thread, so the job must be cloneable. */
export function translateBody({ bytes, api, fields, shaping, reasoning }: TranslationJob): TranslatedBody {
  const dialect = DIALECTS[api];
  const sent = parseExactly(textOf(bytes));
  if (dialect === undefined) return bodyOf(withoutToolMedia(sent), shaping);
  const chat = withReasoning(sent, reasoning);
  const identities = new Map<string, string>();
  for (const name of IDENTITIES) {
    const value = chat[name];
    if (typeof value === 'string') identities.set(name, value);
  }
  const { service_tier: tier } = chat;
  const translated = dialect.request(chat, {
    ...fields,
    identities,
    ...(typeof tier === 'string' ? { serviceTier: tier } : {}),
  });
  if (translated.kind === 'unsayable') return translated;
  return bodyOf(translated.body, shaping);
}

/** Encodes the body into an array of its own, which a thread can transfer. */
function bodyOf(body: JsonObject, shaping: readonly RequestShaping[]): TranslatedBody {
  const shaped = shaping.length === 0 ? body : shapeObject(body, shaping);
  return { kind: 'body', bytes: new TextEncoder().encode(JSON.stringify(shaped)) };
}

/** In a worker thread Buffers arrive as plain arrays. */
function textOf({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString();
}

function withReasoning(chat: JsonObject, reasoning: readonly AddedReasoning[]): JsonObject {
  if (reasoning.length === 0 || !Array.isArray(chat.messages)) return chat;
  const messages: unknown[] = [...chat.messages];
  for (const { message, json, phase } of reasoning) {
    const known = messages[message];
    if (!isObject(known)) continue;
    const { reasoning_details: sent } = known;
    const details = [...(Array.isArray(sent) ? sent : []), ...JSON.parse(textOf(json))];
    messages[message] = { ...known, phase: known.phase ?? phase, reasoning_details: details };
  }
  return { ...chat, messages };
}
