import { isObject, type JsonObject } from '#core/json-object.ts';
import { type ParamNames, renamedParam } from '../renamed-param.ts';

/** Parameters of Responses, each with the field of a chat completion from which it was made. */
const PARAMS: ParamNames = [
  [/^max_output_tokens$/, 'max_completion_tokens'],
  [/^text\.format\.(name|schema|strict|description)/, 'response_format.json_schema.$1'],
  [/^text\.format/, 'response_format'],
  [/^text\.verbosity$/, 'verbosity'],
  [/^reasoning\.effort$/, 'reasoning_effort'],
  [/^(tools\[\d+\])\.(name|parameters|strict|description)/, '$1.function.$2'],
  // The items are more than the messages, so an index would mislead.
  [/^input\b.*$/, 'messages'],
];

/** An error body. It has OpenAI's envelope already, so only its `param` is translated. */
export function chatErrorBody(body: unknown): unknown {
  if (!isObject(body) || !isObject(body.error) || typeof body.error.param !== 'string') return body;
  return { ...body, error: { ...body.error, param: chatParam(body.error.param) } };
}

function chatParam(param: string): string {
  return renamedParam(PARAMS, param) ?? param;
}

/**
 * Status with which an error of this code is sent before a response begins. The last group names
 * faults of the request. An error without a status is taken for a failure of the provider.
 */
const STATUS_OF_CODE: ReadonlyMap<string, number> = new Map([
  ['server_error', 500],
  ['vector_store_timeout', 500],
  ['data_residency_mismatch', 403],
  ['rate_limit_exceeded', 429],
  ['insufficient_quota', 429],
  // OpenAI sends these with 503, which from other providers only means that something failed.
  ['server_is_overloaded', 529],
  ['slow_down', 529],
  ...[
    ...['invalid_prompt', 'bio_policy', 'cyber_policy', 'misalignment_policy_violation', 'context_length_exceeded'],
    ...['invalid_image', 'invalid_image_format', 'invalid_base64_image', 'invalid_image_url', 'invalid_image_mode'],
    ...['image_too_large', 'image_too_small', 'image_parse_error', 'image_content_policy_violation'],
    ...['image_file_too_large', 'unsupported_image_media_type', 'empty_image_file', 'failed_to_download_image'],
    ...['image_file_not_found', 'invalid_encrypted_content'],
  ].map((code): [string, number] => [code, 400]),
]);

/** The status by the type of an error, for codes that are not above. */
const STATUS_OF_TYPE: ReadonlyMap<unknown, number> = new Map([
  ['rate_limit_error', 429],
  ['too_many_requests', 429],
  ['overloaded_error', 529],
]);

/**
 * An error inside a 200, of a failed response or of a stream, in chat's form. `status` is the
 * status that it would have had without the 200, so that both are classified in the same way.
 */
export function chatError(error: unknown, fallback: string): JsonObject {
  const { message, type, code, param, status: named } = isObject(error) ? error : { message: error };
  const status = (typeof code === 'string' ? STATUS_OF_CODE.get(code) : undefined) ?? named ?? STATUS_OF_TYPE.get(type);
  return {
    error: {
      message: typeof message === 'string' && message !== '' ? message : fallback,
      type: typeof type === 'string' && type !== 'error' ? type : 'server_error',
      code: typeof code === 'string' || typeof code === 'number' ? code : null,
      param: typeof param === 'string' ? chatParam(param) : null,
      ...(typeof status === 'number' ? { status } : {}),
    },
  };
}
