import { type ChatFacts, type FieldRule, invalidField } from './chat-facts.ts';
import { checkMessages } from './chat-messages.ts';
import { checkResponseFormat, checkToolChoice, checkTools } from './chat-tools.ts';

/** INTERFACE 4: the accepted top-level fields, with the rule for each. Null values never get here: they are absent. */
export const CHAT_FIELDS: ReadonlyMap<string, FieldRule> = new Map<string, FieldRule>([
  ['model', (cursor) => void cursor.skip()],
  ['messages', checkMessages],
  ['max_tokens', outputLimitRule],
  ['max_completion_tokens', outputLimitRule],
  [
    'n',
    numberRule({ min: 1, max: 128, integer: true }, (value, facts) => {
      facts.completions = value;
    }),
  ],
  [
    'stream',
    booleanRule((value, facts) => {
      facts.stream = value;
    }),
  ],
  ['stream_options', streamOptionsRule],
  ['response_format', checkResponseFormat],
  [
    'reasoning_effort',
    textRule((value, facts) => {
      facts.reasoningEffort = value;
    }),
  ],
  ['tools', checkTools],
  ['tool_choice', checkToolChoice],
  ['parallel_tool_calls', booleanRule()],
  ['temperature', numberRule({ min: 0, max: 2 })],
  ['top_p', numberRule({ min: 0, max: 1 })],
  ['stop', stopRule],
  ['seed', integerRule],
  ['presence_penalty', numberRule({ min: -2, max: 2 })],
  ['frequency_penalty', numberRule({ min: -2, max: 2 })],
  ['logit_bias', logitBiasRule],
  ['logprobs', booleanRule()],
  ['top_logprobs', numberRule({ min: 0, max: 20, integer: true })],
  ['user', textRule()],
  ['safety_identifier', textRule()],
  ['prompt_cache_key', textRule()],
  ['verbosity', textRule()],
]);

interface NumberBounds {
  readonly min: number;
  readonly max: number;
  readonly integer?: boolean;
}

type Note<Value> = (value: Value, facts: ChatFacts) => void;

function numberRule({ min, max, integer = false }: NumberBounds, note?: Note<number>): FieldRule {
  const requirement = `must be ${integer ? 'an integer' : 'a number'} from ${min} to ${max}`;
  return (cursor, facts, field) => {
    if (cursor.kind() !== 'number') return invalidField(field, requirement);
    const value = cursor.number();
    if (value < min || value > max || (integer && !Number.isInteger(value))) return invalidField(field, requirement);
    note?.(value, facts);
    return undefined;
  };
}

/** Of any size: providers differ in what they take. */
function integerRule(...[cursor, , field]: Parameters<FieldRule>): ReturnType<FieldRule> {
  const isInteger = cursor.kind() === 'number' && Number.isInteger(cursor.number());
  return isInteger ? undefined : invalidField(field, 'must be an integer');
}

function booleanRule(note?: Note<boolean>): FieldRule {
  return (cursor, facts, field) => {
    if (cursor.kind() !== 'boolean') return invalidField(field, 'must be true or false');
    note?.(cursor.boolean(), facts);
    if (!note) cursor.skip();
    return undefined;
  };
}

function textRule(note?: Note<string>): FieldRule {
  return (cursor, facts, field) => {
    if (cursor.kind() !== 'string') return invalidField(field, 'must be a string');
    if (note) note(cursor.text(), facts);
    else cursor.skip();
    return undefined;
  };
}

/** `max_completion_tokens` is an alias of `max_tokens`; a request has at most one of them. */
function outputLimitRule(...[cursor, facts, field]: Parameters<FieldRule>): ReturnType<FieldRule> {
  const value = cursor.kind() === 'number' ? cursor.number() : 0;
  if (!Number.isInteger(value) || value < 1) return invalidField(field, 'must be an integer of at least 1');
  if (facts.maxTokens !== undefined) {
    return invalidField('max_completion_tokens', 'is an alias of max_tokens; only one of them may be given');
  }
  facts.maxTokens = value;
  facts.maxTokensParam = field;
  return undefined;
}

function streamOptionsRule(...[cursor, facts, field]: Parameters<FieldRule>): ReturnType<FieldRule> {
  if (cursor.kind() !== 'object') return invalidField(field, 'must be an object');
  return cursor.eachMember((key) => {
    const kind = cursor.kind();
    if (key !== 'include_usage' || kind === 'null') return void cursor.skip();
    if (kind !== 'boolean') return invalidField(`${field}.include_usage`, 'must be true or false');
    facts.includeUsage = cursor.boolean();
    return undefined;
  });
}

const MAX_STOPS = 4;

function stopRule(...[cursor, , field]: Parameters<FieldRule>): ReturnType<FieldRule> {
  const requirement = `must be a string or an array of up to ${MAX_STOPS} strings`;
  if (cursor.kind() === 'string') return void cursor.skip();
  if (cursor.kind() !== 'array') return invalidField(field, requirement);
  return cursor.eachElement((index) => {
    if (cursor.kind() !== 'string' || index >= MAX_STOPS) return invalidField(field, requirement);
    return void cursor.skip();
  });
}

function logitBiasRule(...[cursor, , field]: Parameters<FieldRule>): ReturnType<FieldRule> {
  const requirement = 'must be an object of numbers from -100 to 100';
  if (cursor.kind() !== 'object') return invalidField(field, requirement);
  return cursor.eachMember(() => {
    if (cursor.kind() !== 'number') return invalidField(field, requirement);
    return Math.abs(cursor.number()) <= 100 ? undefined : invalidField(field, requirement);
  });
}
