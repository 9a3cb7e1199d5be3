import { at, eachMember, type FieldRule, invalidField } from './chat-facts.ts';
import type { JsonCursor } from './json/json-cursor.ts';

/**
 * `tools`: functions, and custom tools, which accept free text. Providers show definitions to the
 * model in a form of their own, so each definition is counted as a whole.
 */
export const checkTools: FieldRule = (cursor, facts, field) => {
  if (cursor.kind() !== 'array') return invalidField(field, 'must be an array of tools');
  return cursor.eachElement((index) => {
    facts.hasTools = true;
    facts.prompt.addTool(cursor);
    return checkTool(cursor, `${field}[${index}]`);
  });
};

function checkTool(cursor: JsonCursor, param: string): ReturnType<FieldRule> {
  if (cursor.kind() !== 'object') return invalidField(param, 'must be an object');
  const type = cursor.wordOfMember('type');
  let isDefined = false;
  const refusal = eachMember(cursor, at(param), (key) => {
    if (key !== type || !TOOL_TYPES.has(type)) return void cursor.skip();
    isDefined = true;
    return checkFunction(cursor, `${param}.${type}`);
  });
  if (refusal) return refusal;
  if (!TOOL_TYPES.has(type))
    return invalidField(`${param}.type`, 'must be "function" or "custom"; other tools are not supported');
  return isDefined ? undefined : invalidField(`${param}.${type}`, 'must be an object');
}

const TOOL_TYPES: ReadonlySet<string> = new Set(['function', 'custom']);

/** A function, a custom tool or a schema of a response: each has a name. */
function checkFunction(cursor: JsonCursor, param: string, schema = 'parameters'): ReturnType<FieldRule> {
  if (cursor.kind() !== 'object') return invalidField(param, 'must be an object');
  let isNamed = false;
  const refusal = eachMember(cursor, at(param), (key) => {
    const kind = cursor.kind();
    switch (key) {
      case 'name':
        isNamed = kind === 'string' && cursor.end - cursor.start > 2;
        cursor.skip();
        return isNamed ? undefined : invalidField(`${param}.name`, 'must be a string that is not empty');
      case 'description':
        if (kind !== 'string' && kind !== 'null') return invalidField(`${param}.description`, 'must be a string');
        break;
      case schema:
        if (kind !== 'object' && kind !== 'null')
          return invalidField(`${param}.${schema}`, 'must be a JSON Schema object');
        break;
      case 'strict':
        if (kind !== 'boolean' && kind !== 'null') return invalidField(`${param}.strict`, 'must be true or false');
        break;
    }
    return void cursor.skip();
  });
  return refusal ?? (isNamed ? undefined : invalidField(`${param}.name`, 'must be a string that is not empty'));
}

const TOOL_CHOICES: ReadonlySet<string> = new Set(['none', 'auto', 'required']);

/** A mode, or an object of `type` function, custom or allowed_tools with a member of that name. */
export const checkToolChoice: FieldRule = (cursor, _facts, field) => {
  if (cursor.kind() === 'string') {
    return TOOL_CHOICES.has(cursor.word())
      ? undefined
      : invalidField(field, 'must be none, auto, required or an object');
  }
  if (cursor.kind() !== 'object') return invalidField(field, 'must be none, auto, required or an object');
  let type = '';
  const described = new Set<string>();
  const refusal = eachMember(cursor, at(field), (key) => {
    if (key === 'type' && cursor.kind() === 'string') {
      type = cursor.word();
      return undefined;
    }
    if (TOOL_TYPES.has(key)) {
      described.add(key);
      return checkFunction(cursor, `${field}.${key}`);
    }
    if (key === 'allowed_tools' && cursor.kind() === 'object') described.add(key);
    return void cursor.skip();
  });
  if (refusal) return refusal;
  if (!TOOL_TYPES.has(type) && type !== 'allowed_tools') {
    return invalidField(`${field}.type`, 'must be "function", "custom" or "allowed_tools"');
  }
  return described.has(type) ? undefined : invalidField(`${field}.${type}`, 'must be an object');
};

const RESPONSE_FORMATS: ReadonlySet<string> = new Set(['text', 'json_object', 'json_schema']);

/** All types but `text` are JSON. Some models are shown the schema, so it is counted as a tool. */
export const checkResponseFormat: FieldRule = (cursor, facts, field) => {
  if (cursor.kind() !== 'object') return invalidField(field, 'must be an object');
  const { start, end } = cursor;
  let type = '';
  let hasSchema = false;
  const refusal = eachMember(cursor, at(field), (key) => {
    if (key === 'type' && cursor.kind() === 'string') {
      type = cursor.word();
      return undefined;
    }
    if (key === 'json_schema' && cursor.kind() === 'object') {
      hasSchema = true;
      return checkFunction(cursor, `${field}.json_schema`, 'schema');
    }
    return void cursor.skip();
  });
  if (refusal) return refusal;
  if (!RESPONSE_FORMATS.has(type)) return invalidField(`${field}.type`, 'must be text, json_object or json_schema');
  if (type === 'json_schema' && !hasSchema) return invalidField(`${field}.json_schema`, 'must be an object');
  facts.jsonFormat = type !== 'text';
  if (hasSchema) facts.prompt.addTool({ start, end });
  return undefined;
};
