/**
 * Every error code with its status, type, text, retry advice, and whether a request that ends with
 * it can have been billed. docs/errors.md is generated from it, and test/error-codes.test.ts keeps
 * page and code in step.
 */
export interface ErrorEntry {
  readonly status: number;
  readonly type: ErrorType;
  /** `{name}` is replaced by the refusal's parameter of that name. */
  readonly message: string;
  /** Seconds, or `window`: the caller passes those until the window reopens. Absent: no header. */
  readonly retryAfter?: number | 'window';
  /** False: some SDKs would retry in vain, or sleep until midnight. A header forbids it. */
  readonly mayRetry?: false;
  /** The field, if it is always the same one. */
  readonly param?: string;
  /** Present if it can end a begun stream, whose delivered part is charged. Absent: unbilled. */
  readonly billed?: 'delivered';
  /** Advice for the client, shown in docs/errors.md and the dashboard. */
  readonly advice: string;
}

export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'insufficient_credits'
  | 'permission_error'
  | 'not_found_error'
  | 'timeout_error'
  | 'rate_limit_error'
  | 'api_error'
  | 'service_unavailable_error';

export const ERROR_CODES = {
  context_length_exceeded: {
    status: 400,
    type: 'invalid_request_error',
    message:
      "The prompt is too long: this request needs about {estimated_tokens} tokens (input plus output), more than the model's context window of {context_window}.",
    param: 'messages',
    advice: 'Shorten the messages or lower max_tokens.',
  },
  image_url_not_supported: {
    status: 400,
    type: 'invalid_request_error',
    message: 'Images must be inlined as base64 data: URIs; remote links are not fetched.',
    advice: 'Send the image itself as a data: URI.',
  },
  invalid_json: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The request body is not valid JSON: {problem}.',
    advice: 'Send a JSON object in UTF-8.',
  },
  invalid_request: {
    status: 400,
    type: 'invalid_request_error',
    message: '{problem}',
    advice: 'Fix the field named in param.',
  },
  json_mode_no_stream: {
    status: 400,
    type: 'invalid_request_error',
    message: 'A JSON response format cannot be combined with streaming.',
    param: 'stream',
    advice: 'Drop stream or response_format.',
  },
  json_mode_not_supported: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The model {model} cannot enforce a JSON response format.',
    param: 'response_format',
    advice: 'Choose a model with the json_mode capability.',
  },
  max_tokens_exceeds_cap: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The requested output length of {requested} tokens is above the cap of {cap}.',
    advice: 'Lower max_tokens.',
  },
  missing_messages: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The field {field} is required and must be {accepted}.',
    param: 'messages',
    advice: 'Send messages.',
  },
  missing_model: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The field model is required and must be a model id. GET /v1/models lists them.',
    param: 'model',
    advice: 'Send model.',
  },
  n_not_allowed: {
    status: 400,
    type: 'invalid_request_error',
    message: 'More than one completion per request is not enabled for this organization.',
    param: 'n',
    advice: 'Drop n or set it to 1.',
  },
  reasoning_effort_not_supported: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The model {model} does not accept this {field}. Accepted: {accepted}.',
    param: 'reasoning_effort',
    advice: 'Use one of the levels that the message lists.',
  },
  tools_not_supported: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The model {model} does not support tools.',
    param: 'tools',
    advice: 'Choose a model with the tools capability.',
  },
  unknown_parameter: {
    status: 400,
    type: 'invalid_request_error',
    message: 'Unknown parameter: {name}.',
    advice: 'Remove the field named in param.',
  },
  vision_not_available: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The model {model} cannot read images.',
    param: 'messages',
    advice: 'Choose a model with the vision capability.',
  },
  invalid_api_key: {
    status: 401,
    type: 'authentication_error',
    message: 'Invalid API key. Send it as: Authorization: Bearer sk-gw-…',
    advice: 'Check the key and that the Authorization header reaches the gateway.',
  },
  ip_not_allowed: {
    status: 401,
    type: 'authentication_error',
    message: 'This API key may not be used from the address {address}.',
    advice: "Call from an address on the key's allowlist; the key itself stays valid.",
  },
  key_expired: {
    status: 401,
    type: 'authentication_error',
    message: 'This API key has expired.',
    advice: 'Create a new key.',
  },
  key_revoked: {
    status: 401,
    type: 'authentication_error',
    message: 'This API key was revoked.',
    advice: 'Create a new key.',
  },
  insufficient_credits: {
    status: 402,
    type: 'insufficient_credits',
    message: 'The {funds} does not cover this request: {estimated_usd} USD needed, {available_usd} USD available.',
    advice:
      'Top up; where metadata.limit names a budget of the key, raise that budget instead. Or lower max_tokens to metadata.affordable_output_tokens, unless that is 0.',
  },
  missing_scope: {
    status: 403,
    type: 'permission_error',
    message: 'This API key lacks the scope {scope}.',
    advice: 'Use a key with that scope.',
  },
  model_not_allowed: {
    status: 403,
    type: 'permission_error',
    message: 'This API key may not use the model {model}.',
    param: 'model',
    advice: "Use one of the key's models.",
  },
  org_suspended: {
    status: 403,
    type: 'permission_error',
    message: 'This organization is suspended.',
    advice: 'Contact the operator; retrying does not help.',
  },
  generation_not_found: {
    status: 404,
    type: 'not_found_error',
    message: 'No settled generation with this id. One that has just ended can be looked up a few seconds later.',
    param: 'id',
    advice: 'Retry after a few seconds, or check the id.',
  },
  model_not_found: {
    status: 404,
    type: 'not_found_error',
    message: 'There is no model {model}. GET /v1/models lists what this key may use.',
    param: 'model',
    advice: 'Use an id from GET /v1/models.',
  },
  route_not_found: {
    status: 404,
    type: 'not_found_error',
    message: 'There is no {method} {path}. {hint}.',
    advice: 'Check base_url.',
  },
  request_timeout: {
    status: 408,
    type: 'timeout_error',
    message: '{problem}',
    billed: 'delivered',
    advice: 'Retry with backoff.',
  },
  idempotency_key_in_flight: {
    status: 409,
    type: 'invalid_request_error',
    message: 'A request with this Idempotency-Key is still being processed.',
    param: 'Idempotency-Key',
    advice: 'Wait for the first attempt; its answer is replayed.',
  },
  request_too_large: {
    status: 413,
    type: 'invalid_request_error',
    message: 'The request is larger than the limit of {limit}.',
    advice: 'Send less.',
  },
  idempotency_key_reused: {
    status: 422,
    type: 'invalid_request_error',
    message: 'This Idempotency-Key was used with a different body.',
    param: 'Idempotency-Key',
    advice: 'Use a new key for a new request.',
  },
  daily_budget_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    message: 'The daily spend budget of {key_or_organization} does not cover this request. It resets at 00:00 UTC.',
    retryAfter: 'window',
    mayRetry: false,
    advice: 'Raise the budget or wait until 00:00 UTC.',
  },
  rpm_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    message: '{problem}',
    retryAfter: 'window',
    advice: 'Retry after the given seconds.',
  },
  tpm_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    message: 'The token budget of {key_or_organization} for this minute does not cover this request.',
    retryAfter: 'window',
    advice: 'Retry after the given seconds.',
  },
  internal_error: {
    status: 500,
    type: 'api_error',
    message: 'Something failed on our side. It has been recorded.',
    billed: 'delivered',
    advice: 'Retry; if it persists, report the x-request-id.',
  },
  upstream_config_error: {
    status: 500,
    type: 'api_error',
    message: 'The model {model} is not configured correctly on our side.',
    mayRetry: false,
    advice: 'Use another model; the operator has to fix the mapping.',
  },
  no_capacity: {
    status: 503,
    type: 'service_unavailable_error',
    message: 'No capacity at the moment.',
    retryAfter: 10,
    advice: 'Retry after the given seconds.',
  },
  upstream_error: {
    status: 503,
    type: 'api_error',
    message: 'The model provider failed.',
    billed: 'delivered',
    advice: 'Retry with backoff.',
  },
} as const satisfies Record<string, ErrorEntry>;

/** Status in logs and metrics, without code, if the client left before the response. Never sent. */
export const CLIENT_GONE_STATUS = 499;

export type ErrorCode = keyof typeof ERROR_CODES;
