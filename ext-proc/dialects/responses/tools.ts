import { isObject, type JsonObject } from '#core/json-object.ts';

/** Parameters of a function that has none. Responses requires the member. */
const NO_PARAMETERS = { type: 'object', properties: {}, additionalProperties: false };

/**
 * Definitions of tools. Responses treats a function without `strict` as strict, and then refuses
 * schemas that chat completions accepts. So `strict: false` is sent.
 */
export function responsesTools(tools: unknown): JsonObject[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool: unknown) => {
    if (!isObject(tool)) return [];
    if (isObject(tool.function)) return [functionTool(tool.function)];
    return isObject(tool.custom) ? [customTool(tool.custom)] : [];
  });
}

function functionTool({ name, description, parameters, strict }: JsonObject): JsonObject {
  return {
    type: 'function',
    name,
    ...described(description),
    parameters: isObject(parameters) ? parameters : NO_PARAMETERS,
    strict: strict === true,
  };
}

function customTool({ name, description, format }: JsonObject): JsonObject {
  return {
    type: 'custom',
    name,
    ...described(description),
    ...(isObject(format) ? { format: inputFormat(format) } : {}),
  };
}

function inputFormat({ type, grammar }: JsonObject): JsonObject {
  if (type !== 'grammar' || !isObject(grammar)) return { type: 'text' };
  return { type: 'grammar', syntax: grammar.syntax, definition: grammar.definition };
}

function described(description: unknown): JsonObject {
  return typeof description === 'string' ? { description } : {};
}

/** A mode, one tool, or a set of allowed tools. Responses has the name beside the type. */
export function responsesToolChoice(choice: unknown): unknown {
  if (!isObject(choice)) return choice;
  if (choice.type !== 'allowed_tools' || !isObject(choice.allowed_tools)) return toolName(choice);
  const { mode, tools } = choice.allowed_tools;
  return { type: 'allowed_tools', mode, tools: Array.isArray(tools) ? tools.filter(isObject).map(toolName) : [] };
}

function toolName(tool: JsonObject): JsonObject {
  const { type } = tool;
  const named = type === 'custom' ? tool.custom : tool.function;
  // Some clients write the name beside the type already.
  return { type, name: isObject(named) ? named.name : tool.name };
}

export function textFormat(format: unknown): JsonObject | undefined {
  if (!isObject(format)) return undefined;
  const { type, json_schema: described } = format;
  if (type !== 'json_schema' || !isObject(described)) return { type };
  const { name, schema, description, strict } = described;
  return {
    type,
    name,
    schema: isObject(schema) ? schema : {},
    ...(typeof description === 'string' ? { description } : {}),
    strict: strict === true,
  };
}
