import { envelopeOf, type Refusal, refuse, renderRefusal } from '#core/errors/refusal.ts';
import { errorBody } from '../dialects/anthropic/error-body.ts';
import { STATUS_FAULT } from '../transport/ext-proc/ext-proc-server.ts';
import { ON_EVERY_RESPONSE } from '../transport/ext-proc/replies.ts';
import { HEADER_LIMIT } from '../transport/ext-proc/request-head.ts';

/**
 * Formats responses that Envoy makes by itself (docs/interface.md, "Errors") like those of the
 * process, from the same error codes. The first mapper that matches is used. Responses of the
 * process are not mapped: StreamedImmediateResponse is not a local reply.
 */
export function localReplyMappers() {
  return refusals().flatMap(([filter, refusal]) => [
    mapper(allOf(filter, AT_MESSAGES), refusal, true),
    mapper(filter, refusal, false),
  ]);
}

function refusals(): readonly (readonly [filter: object, refusal: Refusal])[] {
  const noCapacity = refuse('no_capacity');
  return [
    // Headers came too slowly, or the request was idle for longer than any of our time-outs.
    [
      anyOf(status('EQ', 408), status('EQ', 504)),
      refuse('request_timeout', { problem: 'The request did not arrive in time.' }),
    ],
    [anyOf(status('EQ', 413), status('EQ', 431)), refuse('request_too_large', { limit: HEADER_LIMIT })],
    // One address sends more than `listen.address_rps`.
    [
      status('EQ', 429),
      refuse('rpm_exceeded', { problem: 'Too many requests from this address.' }, { retryAfterSeconds: 1 }),
    ],
    // HTTP/1.0, mostly from a proxy in front with its default settings. A response over HTTP/1.0
    // cannot signal that it was cut off.
    [
      status('EQ', 426),
      refuse('invalid_request', { problem: 'This version of HTTP is not accepted; use HTTP/1.1 or HTTP/2.' }),
    ],
    // Every other 4xx that Envoy makes is for a request that HTTP does not allow.
    [
      allOf(status('GE', 400), status('LE', 499)),
      refuse('invalid_request', { problem: 'The request is not well-formed HTTP/1.1 or HTTP/2.' }),
    ],
    // Envoy's only 501: a transfer coding other than chunked, such as gzip.
    [
      status('EQ', 501),
      refuse(
        'invalid_request',
        { problem: 'A transfer-encoding other than chunked is not accepted.' },
        { param: 'transfer-encoding' },
      ),
    ],
    // The process failed the stream on purpose: a bug of ours.
    [detailsContain(`gRPC_error_${STATUS_FAULT}{`), refuse('internal_error')],
    // The process does not run, is overloaded, or its connection broke.
    [anyOf(status('EQ', 502), status('EQ', 503)), noCapacity],
    [status('GE', 100), refuse('internal_error')],
  ];
}

/**
 * Matches requests to the Messages API that have an id of ours. Without a host a request still has
 * the client's own `x-request-id`, and Envoy does not escape text that it puts into a body.
 */
const AT_MESSAGES = allOf(matches(':path', '/v1/messages([/?].*)?'), matches('x-request-id', '[0-9a-f-]+'));
const REQUEST_ID = '%REQ(X-REQUEST-ID)%';

function mapper(filter: object, refusal: Refusal, isAtMessages: boolean) {
  const { status: statusCode, headers } = renderRefusal(refusal);
  const { error: told } = envelopeOf(refusal);
  // Envoy interprets %…% as its own operators.
  const error = { ...told, message: told.message.replaceAll('%', '%%') };
  const { 'content-type': contentType, ...others } = headers;
  return {
    filter,
    status_code: statusCode,
    headers_to_add: [
      ...Object.entries(others).map(([key, value]) => header(key, value, 'OVERWRITE_IF_EXISTS_OR_ADD')),
      ...EVERYWHERE,
      // A request that broke before its headers were read has no id yet. The ids of all others are
      // set later.
      header('x-request-id', '%UNIQUE_ID%', 'ADD_IF_ABSENT'),
      ...(isAtMessages ? [header('request-id', REQUEST_ID, 'OVERWRITE_IF_EXISTS_OR_ADD')] : []),
    ],
    body_format_override: {
      content_type: contentType,
      text_format_source: { inline_string: JSON.stringify(isAtMessages ? errorBody(error, REQUEST_ID) : { error }) },
    },
  };
}

const EVERYWHERE = ON_EVERY_RESPONSE.flatMap((name, at) =>
  at % 2 === 0 ? [header(name, ON_EVERY_RESPONSE[at + 1] ?? '', 'OVERWRITE_IF_EXISTS_OR_ADD')] : [],
);

function header(key: string, value: string, action: string): object {
  return { header: { key, value }, append_action: action };
}

function status(op: 'EQ' | 'GE' | 'LE', code: number): object {
  // Envoy requires a runtime key. It is never set.
  const value = { default_value: code, runtime_key: `gateway.local_reply.${op.toLowerCase()}_${code}` };
  return { status_code_filter: { comparison: { op, value } } };
}

function anyOf(...filters: readonly object[]): object {
  return { or_filter: { filters } };
}

function allOf(...filters: readonly object[]): object {
  return { and_filter: { filters } };
}

function matches(name: string, regex: string): object {
  return { header_filter: { header: { name, string_match: { safe_regex: { regex } } } } };
}

function detailsContain(text: string): object {
  return {
    extension_filter: {
      name: 'cel',
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.access_loggers.filters.cel.v3.ExpressionFilter',
        expression: `response.code_details.contains('${text}')`,
      },
    },
  };
}
