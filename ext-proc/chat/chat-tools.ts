import { eachMember, type FieldRule, invalidField } from './chat-facts.ts';
import type { JsonCursor } from './json/json-cursor.ts';

type Rule = (...rule: Parameters<FieldRule>) => ReturnType<FieldRule>;

/**
 * `tools`: functions only. Providers show definitions to the model in a form of their own, so the
 * whole of each is counted.
 */
export const checkTools: Rule = (cursor, facts, field) => {
  if (cursor.kind() !== 'array') return invalidField(field, 'must be an array of tools');
  return cursor.eachElement((index) => {
    facts.hasTools = true;
    facts.prompt.addTool(cursor);
    return checkTool(cursor, `${field}[${index}]`);
  });
};

/** Names a member of what `param` names. */
const at = (param: string) => (member: string) => param + member;

function checkTool(cursor: JsonCursor, param: string): ReturnType<FieldRule> {
  if (cursor.kind() !== 'object') return invalidField(param, 'must be an object');
  let isFunction = false;
  let isDefined = false;
  const refusal = eachMember(cursor, at(param), (key) => {
    if (key === 'type') {
      isFunction = cursor.kind() === 'string' && cursor.word() === 'function';
      return isFunction
        ? undefined
        : invalidField(`${param}.type`, 'must be "function"; other tools are not supported');
    }
    if (key !== 'function') return void cursor.skip();
    isDefined = true;
    return checkFunction(cursor, `${param}.function`);
  });
  if (refusal) return refusal;
  if (!isFunction) return invalidField(`${param}.type`, 'must be "function"');
  return isDefined ? undefined : invalidField(`${param}.function`, 'must be an object');
}

function checkFunction(cursor: JsonCursor, param: string): ReturnType<FieldRule> {
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
      case 'parameters':
        if (kind !== 'object' && kind !== 'null')
          return invalidField(`${param}.parameters`, 'must be a JSON Schema object');
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

/**
 * A word, `{"type":"function","function":{"name"}}`, or
 * `{"type":"allowed_tools","allowed_tools":{…}}`.
 */
export const checkToolChoice: Rule = (cursor, _facts, field) => {
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
    if (key === 'function') {
      described.add(key);
      return checkFunction(cursor, `${field}.function`);
    }
    if (key === 'allowed_tools' && cursor.kind() === 'object') described.add(key);
    return void cursor.skip();
  });
  if (refusal) return refusal;
  if (type !== 'function' && type !== 'allowed_tools') {
    return invalidField(`${field}.type`, 'must be "function" or "allowed_tools"');
  }
  return described.has(type) ? undefined : invalidField(`${field}.${type}`, 'must be an object');
};

const RESPONSE_FORMATS: ReadonlySet<string> = new Set(['text', 'json_object', 'json_schema']);

/**
 * Type `text` is no JSON format. A schema is shown to some models, so it is counted like a tool.
 */
export const checkResponseFormat: Rule = (cursor, facts, field) => {
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
      return checkFunction(cursor, `${field}.json_schema`);
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
