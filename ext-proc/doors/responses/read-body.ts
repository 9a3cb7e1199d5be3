import { isObject, type JsonObject } from '#core/json-object.ts';
import { type InvalidField, invalid, type ReadBody } from '../door.ts';
import { givenMembers, isGiven, refusedFormat } from '../given-members.ts';
import { ChatMessages } from './read-items.ts';
import { ChatTools, isInvalidChoice, readToolChoice, refuseWebSearch } from './read-tools.ts';
import { repeatedMembers } from './repeated-members.ts';

/** Fields that are the same in both APIs. */
const SAME = [
  ...['model', 'stream', 'temperature', 'top_p', 'top_logprobs', 'service_tier', 'metadata'],
  ...['user', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention'],
  'stream_options',
] as const;

/** Fields about something that is stored, each with the end of the refusal. */
const STORED: Readonly<Record<string, string>> = {
  previous_response_id: 'is not offered: responses are not stored; send the whole conversation as input',
  conversation: 'is not offered: conversations are not stored; send the whole conversation as input',
  prompt: 'is not offered: prompts are not stored; send instructions and input',
  context_management: 'is not offered',
  moderation: 'is not offered',
};

const OTHERS = [
  ...['input', 'instructions', 'max_output_tokens', 'max_tool_calls', 'tools', 'tool_choice', 'text', 'reasoning'],
  ...['include', 'store', 'background', 'truncation', 'client_metadata', 'parallel_tool_calls'],
] as const;

export const RESPONSES_FIELDS: ReadonlySet<string> = new Set([...SAME, ...OTHERS, ...Object.keys(STORED)]);

/** Accepted values of `include`. Those about a provider's tools have no effect. */
const INCLUDED: ReadonlySet<unknown> = new Set([
  ...['reasoning.encrypted_content', 'message.output_text.logprobs', 'message.input_image.image_url'],
  ...['web_search_call.results', 'web_search_call.action.sources', 'file_search_call.results'],
  ...['code_interpreter_call.outputs', 'computer_call_output.output.image_url'],
]);

/** A body of `POST /v1/responses` as a chat completion. Chat's rules check values of both APIs. */
export function readResponsesBody(body: JsonObject): ReadBody | InvalidField {
  const refused = refusedSetting(body);
  if (refused) return refused;
  const tools = new ChatTools();
  const messages = new ChatMessages(tools);
  if (typeof body.instructions === 'string') messages.addText('system', body.instructions, 'instructions');
  const { input, tool_choice: choice } = body;
  if (typeof input === 'string') messages.addText('user', input, 'input');
  const invalidPart =
    (isGiven(body.tools) ? tools.add(body.tools, 'tools') : undefined) ??
    (Array.isArray(input) ? messages.add(input) : undefined) ??
    refuseWebSearch(tools, choice ?? undefined);
  if (invalidPart) return invalidPart;
  const toolChoice = readToolChoice(choice);
  if (isInvalidChoice(toolChoice)) return toolChoice;
  const includes: readonly unknown[] = Array.isArray(body.include) ? body.include : [];
  const chat = givenMembers({
    ...Object.fromEntries(SAME.map((name) => [name, body[name]])),
    messages: messages.messages,
    max_completion_tokens: body.max_output_tokens,
    tools: tools.tools.length > 0 ? tools.tools : undefined,
    ...toolSettings({ tool_choice: toolChoice, parallel_tool_calls: body.parallel_tool_calls }, tools),
    ...textSettings(body.text),
    reasoning_effort: isObject(body.reasoning) ? body.reasoning.effort : undefined,
    logprobs: includes.includes('message.output_text.logprobs') || isGiven(body.top_logprobs) ? true : undefined,
  });
  const wantsReasoning = includes.includes('reasoning.encrypted_content');
  const { namespaces, places, webSearch } = tools;
  return {
    kind: 'body',
    chat,
    messages: messages.places,
    tools: places,
    asked: { repeated: repeatedMembers(body), wantsReasoning, namespaces },
    mayPass: !messages.hasOtherReasoning && webSearch === undefined,
  };
}

function refusedSetting(body: JsonObject): InvalidField | undefined {
  for (const [name, why] of Object.entries(STORED)) if (isGiven(body[name])) return invalid(name, why);
  const { background, store, instructions, include, truncation, text, reasoning } = body;
  if (isGiven(background) && background !== false)
    return invalid('background', 'must be false: responses are not stored');
  if (isGiven(store) && typeof store !== 'boolean') return invalid('store', 'must be true or false');
  if (isGiven(instructions) && typeof instructions !== 'string') return invalid('instructions', 'must be a string');
  if (isGiven(include) && !(Array.isArray(include) && include.every((part) => INCLUDED.has(part))))
    return invalid('include', `must be an array of: ${[...INCLUDED].join(', ')}`);
  if (isGiven(truncation) && truncation !== 'auto' && truncation !== 'disabled')
    return invalid('truncation', 'must be auto or disabled');
  if (isGiven(body.max_tool_calls) && !(Number.isInteger(body.max_tool_calls) && Number(body.max_tool_calls) >= 1))
    return invalid('max_tool_calls', 'must be an integer of at least 1');
  for (const [name, value] of Object.entries({ text, reasoning }))
    if (isGiven(value) && !isObject(value)) return invalid(name, 'must be an object');
  return isObject(text) ? refusedFormat(text.format, 'text.format') : undefined;
}

/** Responses accepts these values without tools, where they have no effect. Chat refuses them. */
const IDLE: ReadonlySet<unknown> = new Set(['auto', 'none', true, false]);

function toolSettings(settings: JsonObject, { tools }: ChatTools): JsonObject {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => tools.length > 0 || !IDLE.has(value)));
}

function textSettings(text: unknown): JsonObject {
  if (!isObject(text)) return {};
  const { format, verbosity } = text;
  if (!isObject(format) || format.type !== 'json_schema') return { response_format: format, verbosity };
  const { type, name, description, schema, strict } = format;
  return { response_format: { type, json_schema: givenMembers({ name, description, schema, strict }) }, verbosity };
}
