import type { JsonObject } from '#core/json-object.ts';
import { type InvalidField, invalid } from '../door.ts';
import { eachElement, givenMembers, isGiven } from '../given-members.ts';

const HOSTED = "must be custom: Anthropic's own tools are not offered";

/** Tools of a request in chat's form. */
export class ChatTools {
  readonly tools: JsonObject[] = [];
  readonly places: string[] = [];

  /** `referenced`: names of loaded deferred tools. Others are left out: chat cannot defer them. */
  add(tools: unknown, place: string, referenced: ReadonlySet<unknown>): InvalidField | undefined {
    if (!Array.isArray(tools)) return invalid(place, 'must be an array of tools');
    return eachElement(tools, place, (tool, at) => {
      const isUnloaded = tool.defer_loading === true && !referenced.has(tool.name);
      return isUnloaded ? refusedType(tool, at) : this.addTool(tool, at);
    });
  }

  addTool(tool: JsonObject, place: string): InvalidField | undefined {
    const refused = refusedType(tool, place);
    if (refused) return refused;
    const { type: _, name, description, input_schema, strict, ...rest } = tool;
    const { defer_loading: __, eager_input_streaming: ___, allowed_callers: ____, ...more } = rest;
    const named = { name, ...givenMembers({ description, parameters: input_schema, strict }) };
    this.tools.push({ type: 'function', function: named, ...givenMembers(more) });
    this.places.push(place);
    return undefined;
  }
}

function refusedType({ type }: JsonObject, place: string): InvalidField | undefined {
  return isGiven(type) && type !== 'custom' ? invalid(`${place}.type`, HOSTED) : undefined;
}

const CHOICES: ReadonlyMap<unknown, string> = new Map([
  ['auto', 'auto'],
  ['any', 'required'],
  ['none', 'none'],
]);

/** The choice among tools, as members of a chat completion. */
export function readToolChoice({ type, name, disable_parallel_tool_use: single }: JsonObject) {
  const choice = type === 'tool' ? { type: 'function', function: { name } } : CHOICES.get(type);
  if (choice === undefined) return invalid('tool_choice.type', 'must be auto, any, tool or none');
  if (type === 'tool' && (typeof name !== 'string' || name === ''))
    return invalid('tool_choice.name', 'must be a string that is not empty');
  if (isGiven(single) && typeof single !== 'boolean')
    return invalid('tool_choice.disable_parallel_tool_use', 'must be true or false');
  return { tool_choice: choice, ...(single === true ? { parallel_tool_calls: false } : {}) };
}
