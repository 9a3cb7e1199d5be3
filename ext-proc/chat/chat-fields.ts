import { at, eachMember, type FieldRule, invalidField } from './chat-facts.ts';
import { checkMessages } from './chat-messages.ts';
import { checkResponseFormat, checkToolChoice, checkTools } from './chat-tools.ts';
import { countText, readPart } from './content-parts.ts';
import {
  cacheRule,
  checkMetadata,
  checkModalities,
  checkServiceTier,
  checkStore,
  notOffered,
} from './service-fields.ts';
import { booleanRule, integerRule, type Note, numberRule, shortText, textRule } from './value-rules.ts';

/** In characters (code points). */
const LONGEST_IDENTITY = 512;
const LONGEST_LEVEL = 64;
export const LONGEST_STOP = 8192;

/** Fields of the official API that no model of the gateway has, with the end of the refusal. */
export const NOT_OFFERED: ReadonlyMap<string, string> = new Map([
  ['audio', 'is not offered: completions are text'],
  ['web_search_options', 'is not offered: no model here searches the web'],
  ['moderation', 'is not offered'],
  ['functions', 'is not offered; send tools, each {"type":"function","function":{…}}'],
  ['function_call', 'is not offered; send tool_choice with tools'],
]);

/** Fields of other APIs that clients send by mistake, with the end of the refusal. */
export const CURES: ReadonlyMap<string, string> = new Map([
  ['input', ': this is a Responses body; set the client to chat completions, which send messages'],
  ['reasoning', '; send reasoning.effort as reasoning_effort'],
  ['max_output_tokens', '; send max_completion_tokens'],
  ['system', '; send it as a message with the role system'],
  ['instructions', '; send them as a message with the role system'],
  ['stop_sequences', '; send stop'],
  ['thinking', '; send reasoning_effort'],
]);

/** Rules of the accepted fields (docs/interface.md, "Request fields"). Null counts as absent. */
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
    textRule(LONGEST_LEVEL, (value, facts) => {
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
  ['user', textRule(LONGEST_IDENTITY, noteIdentity)],
  ['safety_identifier', textRule(LONGEST_IDENTITY, noteIdentity)],
  ['prompt_cache_key', textRule(LONGEST_IDENTITY, noteIdentity)],
  ['verbosity', textRule(LONGEST_LEVEL)],
  ['store', checkStore],
  ['metadata', checkMetadata],
  ['service_tier', checkServiceTier],
  ['prompt_cache_options', cacheRule('object')],
  ['prompt_cache_retention', cacheRule('string')],
  ['modalities', checkModalities],
  ['prediction', predictionRule],
  ...[...NOT_OFFERED].map(([name, why]): readonly [string, FieldRule] => [name, notOffered(why)]),
]);

function noteIdentity(...[text, facts, field]: Parameters<Note<string>>): void {
  facts.identities.set(field, text);
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
  const others: { start: number; end: number }[] = [];
  let isNextToLast = false;
  const refusal = eachMember(cursor, at(field), (name) => {
    const kind = cursor.kind();
    if (name !== 'include_usage') {
      const { keyStart: start, end } = cursor;
      const last = others.at(-1);
      if (isNextToLast && last) last.end = end;
      else others.push({ start, end });
      isNextToLast = true;
      return void cursor.skip();
    }
    isNextToLast = false;
    if (kind === 'null') return void cursor.skip();
    if (kind !== 'boolean') return invalidField(`${field}.include_usage`, 'must be true or false');
    facts.includeUsage = cursor.boolean();
    return undefined;
  });
  facts.otherStreamOptions = others;
  return refusal;
}

export const MAX_STOPS = 4;

function stopRule(...[cursor, , field]: Parameters<FieldRule>): ReturnType<FieldRule> {
  const requirement = `must be a string of at most ${LONGEST_STOP} characters, or an array of up to ${MAX_STOPS} of them`;
  if (cursor.kind() !== 'array')
    return shortText(cursor, LONGEST_STOP) === undefined ? invalidField(field, requirement) : undefined;
  return cursor.eachElement((index) => {
    const isShort = index < MAX_STOPS && shortText(cursor, LONGEST_STOP) !== undefined;
    return isShort ? undefined : invalidField(field, requirement);
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

/**
 * `prediction`: a text that the completion will resemble. Its tokens that the completion lacks are
 * counted as output by providers, within the output limit
 * (https://platform.openai.com/docs/guides/predicted-outputs). The ceiling of the input includes
 * the text too, for providers that count it there.
 */
function predictionRule(...[cursor, facts, field]: Parameters<FieldRule>): ReturnType<FieldRule> {
  if (cursor.kind() !== 'object') return invalidField(field, 'must be an object');
  let [isContent, hasContent] = [false, false];
  const refusal = eachMember(cursor, at(field), (name) => {
    if (name === 'type') {
      isContent = cursor.kind() === 'string' && cursor.word() === 'content';
      return isContent ? undefined : invalidField(`${field}.type`, 'must be "content"');
    }
    if (name !== 'content') return void facts.prompt.addJson(cursor.span());
    hasContent = true;
    if (cursor.kind() !== 'array') return countText(cursor, facts, () => `${field}.content`);
    return cursor.eachElement((index) =>
      readPart(cursor, facts, ['text'], (member) => `${field}.content[${index}]${member}`),
    );
  });
  if (refusal) return refusal;
  if (!isContent) return invalidField(`${field}.type`, 'must be "content"');
  return hasContent ? undefined : invalidField(`${field}.content`, 'must be a string or an array of text parts');
}
