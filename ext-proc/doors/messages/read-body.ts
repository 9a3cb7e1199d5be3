import { isObject, type JsonObject } from '#core/json-object.ts';
import { LONGEST_STOP, MAX_STOPS } from '../../chat/chat-fields.ts';
import { type Asked, type AskedModel, type InvalidField, invalid, isInvalid, type ReadBody } from '../door.ts';
import { givenMembers, isGiven, refusedFormat } from '../given-members.ts';
import { ASKED_EFFORTS, effortOf } from './effort.ts';
import { ChatTools, readToolChoice } from './read-tools.ts';
import { ChatMessages } from './read-turns.ts';

/** Fields that are the same in both APIs. */
const SAME = ['model', 'stream', 'temperature', 'top_p'] as const;

const OBJECTS = [
  'thinking',
  'output_config',
  'tool_choice',
  'metadata',
  'context_management',
  'cache_control',
] as const;

/** Other accepted fields. `top_k` only has an effect in a body that is passed on. */
const OTHERS = [
  ...['max_tokens', 'messages', 'system', 'stop_sequences', 'top_k', 'tools', 'service_tier', 'speed'],
  ...['output_format', 'diagnostics'],
] as const;

/** Fields about something that a provider stores or runs, or that change its price. */
const NOT_OFFERED: Readonly<Record<string, string>> = {
  ...{ container: 'is not offered: no model here has tools of a provider', mcp_servers: 'is not offered' },
  ...{ inference_geo: 'is not offered', compaction: 'is not offered', fallbacks: 'is not offered' },
  thread: 'is not offered: conversations are not stored; send all messages',
};

export const MESSAGES_FIELDS: ReadonlySet<string> = new Set([
  ...SAME,
  ...OBJECTS,
  ...OTHERS,
  ...Object.keys(NOT_OFFERED),
]);

/** A body of `POST /v1/messages` as a chat completion. Chat's rules check values of both APIs. */
export function readMessagesBody(body: JsonObject, { reasoningEfforts }: AskedModel): ReadBody | InvalidField {
  const config = isObject(body.output_config) ? body.output_config : {};
  const format = config.format ?? body.output_format;
  const refused =
    refusedSetting(body) ??
    refusedEdit(body.context_management) ??
    refusedFormat(format, format === config.format ? 'output_config.format' : 'output_format');
  if (refused) return refused;
  const messages = new ChatMessages();
  const tools = new ChatTools();
  const refusedPart =
    messages.addSystemPrompt(body.system) ??
    (Array.isArray(body.messages) ? messages.add(body.messages, tools) : undefined) ??
    (isGiven(body.tools) ? tools.add(body.tools, 'tools', messages.referenced) : undefined);
  if (refusedPart) return refusedPart;
  const choice = isObject(body.tool_choice) ? readToolChoice(body.tool_choice) : undefined;
  if (choice !== undefined && isInvalid(choice)) return choice;
  const { metadata, thinking } = body;
  const chat = givenMembers({
    ...Object.fromEntries(SAME.map((name) => [name, body[name]])),
    messages: messages.messages,
    max_tokens: body.max_tokens,
    stop: chatStops(body.stop_sequences),
    tools: tools.tools.length > 0 ? tools.tools : undefined,
    ...(tools.tools.length > 0 ? choice : {}),
    reasoning_effort: effortOf(body, reasoningEfforts),
    response_format: isObject(format) ? responseFormat(format) : format,
    user: isObject(metadata) ? metadata.user_id : undefined,
    // With `auto` the provider would choose the tier, so it becomes `default`.
    service_tier: body.speed === 'fast' ? 'fast' : isGiven(body.service_tier) ? 'default' : undefined,
  });
  return {
    kind: 'body',
    chat,
    messages: messages.places,
    tools: tools.places,
    asked: askedOf(thinking),
    // Chat cannot express a choice without tools.
    mayPass: !messages.hasUnread && (choice === undefined || tools.tools.length > 0),
  };
}

function askedOf(thinking: unknown): Asked {
  if (!isObject(thinking) || thinking.type === 'disabled') return {};
  return { thinking: thinking.display === 'omitted' ? 'omitted' : 'shown' };
}

function isStop(stop: unknown): boolean {
  return typeof stop === 'string' && stop.length <= LONGEST_STOP;
}

/** Chat accepts four. A target of Messages gets all of them in a body that is passed on. */
function chatStops(stops: unknown): unknown {
  if (!Array.isArray(stops)) return stops;
  return stops.length === 0 ? undefined : stops.slice(0, MAX_STOPS);
}

const THINKING: ReadonlySet<unknown> = new Set(['enabled', 'disabled', 'adaptive', 'between_tools']);

function refusedSetting(body: JsonObject): InvalidField | undefined {
  for (const [name, why] of Object.entries(NOT_OFFERED)) if (isGiven(body[name])) return invalid(name, why);
  for (const name of OBJECTS)
    if (isGiven(body[name]) && !isObject(body[name])) return invalid(name, 'must be an object');
  const { thinking, output_config: output, service_tier: tier, speed, stop_sequences: stops, top_k: topK } = body;
  if (isObject(thinking)) {
    const { type, budget_tokens: budget } = thinking;
    if (!THINKING.has(type)) return invalid('thinking.type', `must be one of ${[...THINKING].join(', ')}`);
    if (type === 'enabled' && !isCount(budget)) return invalid('thinking.budget_tokens', 'must be an integer');
  }
  if (isObject(output) && isGiven(output.effort) && !ASKED_EFFORTS.has(output.effort))
    return invalid('output_config.effort', `must be one of ${[...ASKED_EFFORTS].join(', ')}`);
  if (isGiven(tier) && tier !== 'auto' && tier !== 'standard_only')
    return invalid('service_tier', 'must be auto or standard_only');
  if (isGiven(speed) && speed !== 'standard' && speed !== 'fast') return invalid('speed', 'must be standard or fast');
  if (isGiven(stops) && !(Array.isArray(stops) && stops.every(isStop)))
    return invalid('stop_sequences', `must be an array of strings of at most ${LONGEST_STOP} characters`);
  return isGiven(topK) && !isCount(topK) ? invalid('top_k', 'must be an integer of at least 0') : undefined;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Refuses edits that make a summary, which is output that the message's usage lacks. */
function refusedEdit(management: unknown): InvalidField | undefined {
  const given = isObject(management) ? (management.edits ?? []) : [];
  if (!Array.isArray(given)) return invalid('context_management.edits', 'must be an array');
  const edits: readonly unknown[] = given;
  const at = edits.findIndex(
    (edit) => !(isObject(edit) && typeof edit.type === 'string' && edit.type.startsWith('clear_')),
  );
  return at === -1 ? undefined : invalid(`context_management.edits[${at}].type`, 'is not offered');
}

/** Chat requires a name for a schema. */
function responseFormat({ type, schema }: JsonObject): JsonObject {
  return { type, json_schema: { name: 'output', schema, strict: true } };
}
