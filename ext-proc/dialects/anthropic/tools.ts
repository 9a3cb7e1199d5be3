import { isObject, type JsonObject } from '#core/json-object.ts';
import type { Unsayable } from '../dialect.ts';
import { cacheControl } from './blocks.ts';

/** Tools of a request, and the choice among them, as members of its body. */
export interface ToolSettings {
  readonly kind: 'tools';
  readonly members: JsonObject;
  /** True if the model must call a tool. */
  readonly isForced: boolean;
}

const NO_TOOLS: ToolSettings = { kind: 'tools', members: {}, isForced: false };

/**
 * Without tools `tool_choice` is left out, because Anthropic refuses it. If the choice allows only
 * some tools, the others are left out.
 */
export function toolSettings({ tools, tool_choice, parallel_tool_calls }: JsonObject): ToolSettings | Unsayable {
  const all = Array.isArray(tools) ? tools.filter(isObject) : [];
  const custom = all.findIndex((tool) => !isObject(tool.function));
  if (custom !== -1) return noCustomTools(`tools[${custom}].type`);
  if (isObject(tool_choice) && tool_choice.type === 'custom') return noCustomTools('tool_choice.type');
  const { choice, names } = toolChoice(tool_choice);
  const sent = all.map(toolDefinition).filter(({ name }) => names === undefined || names.has(name));
  if (sent.length === 0) return NO_TOOLS;
  const { type } = choice;
  const isSingle = parallel_tool_calls === false && type !== 'none';
  const isTold = isSingle || tool_choice !== undefined;
  return {
    kind: 'tools',
    members: {
      tools: sent,
      ...(isTold ? { tool_choice: { ...choice, ...(isSingle ? { disable_parallel_tool_use: true } : {}) } } : {}),
    },
    isForced: type === 'any' || type === 'tool',
  };
}

/** Anthropic's tools have an object as input, never plain text, and no grammar. */
function noCustomTools(param: string): Unsayable {
  return { kind: 'unsayable', param, problem: `${param} must not be "custom": this model has no custom tools.` };
}

function toolDefinition(tool: JsonObject): JsonObject {
  const called = isObject(tool.function) ? tool.function : {};
  const { name, description, parameters, strict } = called;
  return {
    name,
    ...(typeof description === 'string' && description !== '' ? { description } : {}),
    input_schema: inputSchema(parameters),
    ...(strict === true ? { strict } : {}),
    ...cacheControl(called),
    ...cacheControl(tool),
  };
}

/** Anthropic requires the type, although parameters of a function are always an object. */
function inputSchema(parameters: unknown): JsonObject {
  if (!isObject(parameters)) return { type: 'object', properties: {} };
  return { ...parameters, type: 'object' };
}

interface ToolChoice {
  readonly choice: JsonObject;
  /** The only tools that may be called; absent: all of them. */
  readonly names?: ReadonlySet<unknown>;
}

const CHOICES: ReadonlyMap<unknown, string> = new Map([
  ['auto', 'auto'],
  ['required', 'any'],
  ['none', 'none'],
]);

function toolChoice(choice: unknown): ToolChoice {
  if (!isObject(choice)) return { choice: { type: CHOICES.get(choice) ?? 'auto' } };
  if (choice.type !== 'allowed_tools' || !isObject(choice.allowed_tools)) {
    return { choice: { type: 'tool', name: nameOf(choice) } };
  }
  const { mode, tools } = choice.allowed_tools;
  const names = Array.isArray(tools) ? tools.filter(isObject).map(nameOf) : [];
  return { choice: { type: CHOICES.get(mode) ?? 'auto' }, names: new Set(names) };
}

/** Some clients write the name beside the type, as other APIs do. */
function nameOf(tool: JsonObject): unknown {
  return isObject(tool.function) ? tool.function.name : tool.name;
}
