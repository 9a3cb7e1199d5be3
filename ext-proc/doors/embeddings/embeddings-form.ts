import type { Refusal } from '#core/errors/refusal.ts';
import { type ChatFacts, type FieldRule, invalidField } from '../../chat/chat-facts.ts';
import { CHAT_FIELDS } from '../../chat/chat-fields.ts';
import type { JsonCursor } from '../../chat/json/json-cursor.ts';
import type { BodyForm } from '../../chat/read-chat-request.ts';
import { numberRule } from '../../chat/value-rules.ts';

/** Bounds of the official API. */
const MOST_INPUTS = 2048;
const MOST_TOKENS = 300_000;

/** Longest vector. The official API names no bound. */
const MOST_DIMENSIONS = 65_536;
const LARGEST_TOKEN = 2 ** 32 - 1;

const INPUT = 'must be a string, tokens, or an array of strings or of tokens';
const EMPTY = 'must not be empty';

type Rule = (...rule: Parameters<FieldRule>) => ReturnType<FieldRule>;

/** `input`: one or several texts, or arrays of tokens. Each is a prompt of its own. */
const inputRule: Rule = (cursor, facts, field) => {
  switch (kindOfInput(cursor)) {
    case 'text':
      return textRule(cursor, facts, field);
    case 'tokens':
      return tokensRule(cursor, facts, field);
    case 'array':
      return arrayRule(cursor, facts, field);
    default:
      return invalidField(field, INPUT);
  }
};

type InputKind = 'text' | 'tokens' | 'array' | undefined;

function kindOfInput(cursor: JsonCursor): InputKind {
  if (cursor.kind() === 'string') return 'text';
  if (cursor.kind() !== 'array') return undefined;
  const elements = cursor.copy();
  return elements.eachElement(() => elements.kind()) === 'number' ? 'tokens' : 'array';
}

function arrayRule(cursor: JsonCursor, facts: ChatFacts, field: string): Refusal | undefined {
  let first: InputKind;
  const refusal = cursor.eachElement((index) => {
    if (index === MOST_INPUTS) return invalidField(field, `must have at most ${MOST_INPUTS} elements`);
    const place = `${field}[${index}]`;
    const kind = cursor.kind() === 'string' ? 'text' : cursor.kind() === 'array' ? 'tokens' : undefined;
    first ??= kind;
    if (kind === undefined) return invalidField(place, 'must be a string, or an array of tokens');
    if (kind !== first) return invalidField(place, `must be ${first} as the element before it is`);
    return kind === 'text' ? textRule(cursor, facts, place) : tokensRule(cursor, facts, place);
  });
  return refusal ?? (first === undefined ? invalidField(field, EMPTY) : undefined);
}

function textRule(cursor: JsonCursor, facts: ChatFacts, place: string): Refusal | undefined {
  const text = cursor.textSpan();
  if (text.start === text.end) return invalidField(place, EMPTY);
  facts.prompt.addInput(text);
  return undefined;
}

function tokensRule(cursor: JsonCursor, facts: ChatFacts, place: string): Refusal | undefined {
  let tokens = 0;
  const refusal = cursor.eachElement((index) => {
    const token = cursor.kind() === 'number' ? cursor.number() : -1;
    tokens++;
    if (Number.isInteger(token) && token >= 0 && token <= LARGEST_TOKEN) return undefined;
    return invalidField(`${place}[${index}]`, 'must be a token, an integer of at least 0');
  });
  if (refusal || tokens === 0) return refusal ?? invalidField(place, EMPTY);
  facts.prompt.addGiven(tokens);
  return undefined;
}

const encodingRule: Rule = (cursor, _facts, field) => {
  const format = cursor.kind() === 'string' ? cursor.text('base64'.length + 1) : '';
  return ['float', 'base64'].includes(format) ? undefined : invalidField(field, 'must be float or base64');
};

const skipped: Rule = (cursor) => void cursor.skip();

/** Accepted fields of `POST /v1/embeddings`, each with its rule. */
export const EMBEDDINGS_FIELDS: ReadonlyMap<string, FieldRule> = new Map<string, FieldRule>([
  ['model', CHAT_FIELDS.get('model') ?? skipped],
  ['input', inputRule],
  ['dimensions', numberRule({ min: 1, max: MOST_DIMENSIONS, integer: true })],
  ['encoding_format', encodingRule],
  ['user', CHAT_FIELDS.get('user') ?? skipped],
]);

export const EMBEDDINGS_FORM: BodyForm = {
  fields: EMBEDDINGS_FIELDS,
  cures: new Map([
    ['messages', ': this is a chat completions body; send input'],
    ['inputs', '; send input'],
    ['texts', '; send input'],
  ]),
  // The tokens, their arrays, and the other fields.
  mostValues: MOST_TOKENS + MOST_INPUTS + 100,
  check: (present) => (present.has('input') ? undefined : invalidField('input', 'is required')),
};
