import { createHash } from 'node:crypto';
import { isObject, type JsonObject } from '#core/json-object.ts';
import { type InvalidField, invalid, isInvalid } from '../door.ts';
import { eachElement, givenMembers } from '../given-members.ts';

/** Tools of a request in chat's form. */
export class ChatTools {
  readonly tools: JsonObject[] = [];
  readonly places: string[] = [];
  /** Namespace and name of each tool that has a namespace, by its name in chat. */
  readonly namespaces: Record<string, readonly [namespace: string, name: string]> = {};
  /** Place of a web search that was left out. */
  webSearch: string | undefined;
  #named = 0;

  /** Adds the tools of `tools`, of an item of the input, or of a namespace. */
  add(tools: unknown, place: string, namespace = ''): InvalidField | undefined {
    if (!Array.isArray(tools)) return invalid(place, 'must be an array of tools');
    return eachElement(tools, place, (tool, at) => this.#addTool(tool, at, namespace));
  }

  #addTool(tool: JsonObject, place: string, namespace: string): InvalidField | undefined {
    switch (tool.type) {
      case 'function':
        return this.#push(functionTool(tool), place, namespace);
      case 'custom':
        return this.#push(customTool(tool), place, namespace);
      case 'namespace':
        if (namespace !== '' || typeof tool.name !== 'string' || tool.name === '')
          return invalid(`${place}.name`, 'must be a string, and a namespace has no place in another');
        return this.add(tool.tools, `${place}.tools`, tool.name);
      case 'web_search':
        // Codex sends it beside its own tools. A model can do without an optional tool.
        this.webSearch ??= `${place}.type`;
        return undefined;
      default:
        return invalid(`${place}.type`, HOSTED);
    }
  }

  #push(tool: JsonObject, place: string, namespace: string): InvalidField | undefined {
    const called = isObject(tool.function) ? tool.function : tool.custom;
    if (namespace !== '' && isObject(called) && typeof called.name === 'string') {
      if (this.#named++ === MOST_NAMED) return invalid(place, `is one of more than ${MOST_NAMED} in namespaces`);
      const name = nameWithin(namespace, called.name);
      this.namespaces[name] = [namespace, called.name];
      called.name = name;
    }
    this.tools.push(tool);
    this.places.push(place);
    return undefined;
  }
}

/** Most tools in namespaces, because their names are kept as long as the request. */
const MOST_NAMED = 4096;

const HOSTED = 'must be function, custom or namespace: no model here has tools of a provider';

/** Refuses a web search, unless there are other tools and the model need not call it. */
export function refuseWebSearch({ tools, webSearch }: ChatTools, choice: unknown): InvalidField | undefined {
  const mayChoose = choice === undefined || choice === 'auto' || choice === 'none';
  return webSearch === undefined || (tools.length > 0 && mayChoose) ? undefined : invalid(webSearch, HOSTED);
}

const LONGEST_NAME = 64;
const DIGEST_CHARACTERS = 16;

/** Chat has no namespaces, so they become part of the name. Providers limit its length. */
export function nameWithin(namespace: string, name: string): string {
  const whole = `${namespace}__${name}`;
  if (whole.length <= LONGEST_NAME) return whole;
  const digest = createHash('sha256').update(whole).digest('hex').slice(0, DIGEST_CHARACTERS);
  return `${whole.slice(0, LONGEST_NAME - DIGEST_CHARACTERS - 1)}_${digest}`;
}

/** Other members keep their place, and chat's rules count them. */
function functionTool({ name, description, parameters, strict, ...rest }: JsonObject): JsonObject {
  return { ...rest, function: givenMembers({ name, description, parameters, strict }) };
}

function customTool({ name, description, format, ...rest }: JsonObject): JsonObject {
  const custom = givenMembers({ name, description, format: isObject(format) ? inputFormat(format) : format });
  return { ...rest, custom };
}

function inputFormat({ type, syntax, definition }: JsonObject): JsonObject {
  return type === 'grammar' ? { type, grammar: { syntax, definition } } : { type };
}

/** Translates a mode, one tool, or a set of allowed tools. */
export function readToolChoice(choice: unknown): unknown {
  if (!isObject(choice)) return choice;
  const { type } = choice;
  if (type === 'function' || type === 'custom') return chosen(choice);
  if (type !== 'allowed_tools') return invalid('tool_choice.type', 'must be function, custom or allowed_tools');
  const allowed: readonly unknown[] = Array.isArray(choice.tools) ? choice.tools : [];
  const other = allowed.findIndex((tool) => !isObject(tool) || (tool.type !== 'function' && tool.type !== 'custom'));
  if (other !== -1) return invalid(`tool_choice.tools[${other}].type`, 'must be function or custom');
  const tools = allowed.map((tool) => isObject(tool) && chosen(tool));
  return { type, allowed_tools: { mode: choice.mode, tools } };
}

function chosen({ type, name, namespace }: JsonObject): JsonObject {
  const named = typeof namespace === 'string' && typeof name === 'string' ? nameWithin(namespace, name) : name;
  return { type, [type === 'custom' ? 'custom' : 'function']: { name: named } };
}

export function isInvalidChoice(choice: unknown): choice is InvalidField {
  return isObject(choice) && isInvalid(choice);
}
