import { isObject, type JsonObject } from '#core/json-object.ts';
import { type ParamNames, renamedParam } from '../renamed-param.ts';

export function chatErrorBody(body: unknown): unknown {
  if (!isObject(body) || !isObject(body.error)) return body;
  const { message, type, code, param } = chatErrorMembers(body.error);
  return { error: { ...body.error, message, type, code, param } };
}

/** Status with which an error of this type is sent before a response begins. */
const STATUS_OF_TYPE: ReadonlyMap<unknown, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['api_error', 500],
  ['timeout_error', 504],
  ['overloaded_error', 529],
]);

/**
 * An error inside a 200, of a body or of a stream, in chat's form. `status` is the status that it
 * would have had without the 200, so that both are classified in the same way.
 */
export function chatError(error: unknown): JsonObject {
  const members = chatErrorMembers(isObject(error) ? error : { message: error });
  const status = STATUS_OF_TYPE.get(members.type);
  return { error: { ...members, ...(status === undefined ? {} : { status }) } };
}

/** Some `rate_limit_error`s are about the operator's money. Only their code tells them apart. */
const FUNDS_CODE = /spend_limit|billing|billable/;

function chatErrorMembers(error: JsonObject) {
  const { message, type, details, code: given, param } = error;
  const code = isObject(details) ? details.error_code : given;
  const text = typeof message === 'string' && message !== '' ? message : 'The request failed.';
  const isAboutFunds = typeof code === 'string' && FUNDS_CODE.test(code);
  return {
    message: text,
    type: isAboutFunds ? 'billing_error' : typeof type === 'string' ? type : 'api_error',
    code: typeof code === 'string' || typeof code === 'number' ? code : null,
    param: typeof param === 'string' ? param : paramIn(text),
  };
}

/** Fields of Messages, each with the field of a chat completion from which it was made. */
const PARAMS: ParamNames = [
  // The turns are not the messages, so an index would mislead.
  [/^(?:messages|system)\b.*$/, 'messages'],
  [/^tools\.(\d+)\b.*$/, 'tools[$1]'],
  [/^tools$/, 'tools'],
  [/^tool_choice\b.*$/, 'tool_choice'],
  [/^max_tokens$/, 'max_completion_tokens'],
  [/^stop_sequences\b.*$/, 'stop'],
  [/^output_config\.format\b.*$/, 'response_format'],
  [/^(?:output_config\.effort|thinking)\b.*$/, 'reasoning_effort'],
  [/^metadata\b.*$/, 'user'],
  [/^speed$/, 'service_tier'],
  [/^(temperature|top_p|service_tier)$/, '$1'],
];

const LONGEST_FIELD = 300;
const FIELD = /^(?:([a-z_]+(?:\.[\w-]+)*): |`([a-z_]+(?:\.[\w-]+)*)`)/;

/** The field is named where the message begins: `tools.0.name: …`, or in backticks. */
function paramIn(message: string): string | null {
  const [, path, quoted] = FIELD.exec(message.slice(0, LONGEST_FIELD)) ?? [];
  return renamedParam(PARAMS, path ?? quoted ?? '') ?? null;
}
