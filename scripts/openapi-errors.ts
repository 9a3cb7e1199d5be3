import { Document, isScalar, visit } from 'yaml';
import { ERROR_CODES, type ErrorCode, type ErrorEntry } from '#core/errors/error-codes.ts';

/**
 * The error schemas and responses in docs/openapi.yaml, generated from the error codes. `npm run
 * generate` writes them between these markers, at the end of the schemas.
 */
const BEGIN = '# errors:begin\n';
const END = '# errors:end\n';

const CODES = Object.keys(ERROR_CODES) as readonly ErrorCode[];

interface ErrorResponse {
  readonly description: string;
  readonly codes: readonly ErrorCode[];
  /** True for the format of Messages. Envoy's own errors have that of chat completions. */
  readonly isOfMessages?: boolean;
  /** Headers in addition to those of every response. */
  readonly headers?: readonly string[];
}

const ofStatus = (status: number, ...without: readonly ErrorCode[]) =>
  CODES.filter((code) => ERROR_CODES[code].status === status && !without.includes(code));

const RATE_LIMITS = ['requests', 'tokens'].flatMap((window) =>
  ['limit', 'remaining', 'reset'].map((what) => `x-ratelimit-${what}-${window}`),
);
/** Headers of a response after the admission. */
const ADMITTED = ['x-generation-id-if-admitted', ...RATE_LIMITS];

const GENERAL: Readonly<Record<string, ErrorResponse>> = {
  RouteNotFound: { description: 'There is no such path or method.', codes: ['route_not_found'] },
  Chat400: { description: 'The request is refused for its content.', codes: ofStatus(400), headers: ADMITTED },
  Chat401: { description: 'The key is refused.', codes: ofStatus(401) },
  Chat402: {
    description: 'The balance, or a budget of the key, does not cover the request.',
    codes: ofStatus(402),
    headers: RATE_LIMITS,
  },
  Chat403: { description: 'The key or its organization lacks a right.', codes: ofStatus(403) },
  Chat404: { description: 'The model does not exist.', codes: ['model_not_found'] },
  Door404: {
    description: 'The API is off, or the model does not exist.',
    codes: ['route_not_found', 'model_not_found'],
  },
  Chat408: { description: 'A time limit was reached.', codes: ofStatus(408), headers: ADMITTED },
  Chat409: {
    description: 'The first request with this Idempotency-Key is still running.',
    codes: ofStatus(409),
    headers: ['retry-after-ms'],
  },
  Chat413: { description: 'The headers or the body are too large.', codes: ofStatus(413) },
  Chat422: { description: 'The Idempotency-Key belongs to another body.', codes: ofStatus(422) },
  Chat429: {
    description: 'A limit is reached.',
    codes: ofStatus(429),
    headers: ['retry-after', 'x-should-retry', ...RATE_LIMITS],
  },
  Chat500: {
    description: 'A fault of the gateway or of its configuration.',
    codes: ofStatus(500),
    headers: ['x-should-retry', ...ADMITTED],
  },
  Chat503: {
    description: 'No provider answered, or the gateway has no capacity.',
    codes: ofStatus(503),
    headers: ['retry-after-if-known', ...ADMITTED],
  },
  Read400: {
    description: 'The query, or the request as HTTP, is malformed.',
    codes: ['invalid_request', 'unknown_parameter'],
  },
  Read401: { description: 'The key is refused.', codes: ofStatus(401) },
  Read403: { description: 'The key or its organization lacks a right.', codes: ['missing_scope', 'org_suspended'] },
  AnyScope403: { description: 'The organization is suspended.', codes: ['org_suspended'] },
  Generation404: { description: 'There is no such generation, or not yet.', codes: ['generation_not_found'] },
  Read408: { description: 'A time limit was reached.', codes: ofStatus(408) },
  Read413: { description: 'The headers or the body are too large.', codes: ofStatus(413) },
  Read429: { description: 'A limit is reached.', codes: ['rpm_exceeded'], headers: ['retry-after'] },
  Read500: { description: 'A fault of the gateway.', codes: ['internal_error'] },
  Read503: { description: 'The gateway has no capacity.', codes: ['no_capacity'], headers: ['retry-after'] },
};

const RESPONSES: Readonly<Record<string, ErrorResponse>> = {
  ...GENERAL,
  ...Object.fromEntries(
    Object.entries(GENERAL)
      .filter(([name]) => /^(?:Chat(?!404)|Door404)/.test(name))
      .map(([name, response]) => [`Messages${name.slice(4)}`, { ...response, isOfMessages: true }]),
  ),
};

/** Codes with which a begun stream can end, some of them only after mere heartbeats. */
const IN_STREAMS: readonly ErrorCode[] = [
  'context_length_exceeded',
  'internal_error',
  'invalid_request',
  'no_capacity',
  'request_timeout',
  'upstream_config_error',
  'upstream_error',
];

const USD = { $ref: '#/components/schemas/Usd' };
/** Metadata by code. Other codes have none. */
const METADATA: Readonly<Partial<Record<ErrorCode, object>>> = {
  insufficient_credits: {
    type: 'object',
    required: ['available_usd', 'estimated_usd', 'affordable_output_tokens'],
    additionalProperties: false,
    properties: {
      available_usd: USD,
      estimated_usd: USD,
      affordable_output_tokens: { type: 'integer', minimum: 0 },
      limit: { enum: ['monthly_budget', 'lifetime_budget'] },
      resets_at: { type: 'string', format: 'date-time' },
      top_up_url: { type: 'string' },
    },
  },
};

/** Of the error of `thread` at the door of Messages. */
const DETAILS = {
  type: 'object',
  required: ['error_code', 'unsupported'],
  additionalProperties: false,
  properties: {
    error_code: { const: 'thread_unsupported_request' },
    unsupported: { type: 'array', items: { const: 'thread' } },
  },
};

/** The generated part: members of `components.schemas`, then of `components.responses`. */
function errorsPart(): string {
  const schemas = {
    ...Object.fromEntries(CODES.map((code) => [code, errorSchema(code)])),
    StreamError: oneOfErrors(IN_STREAMS),
  };
  const responses = Object.fromEntries(Object.entries(RESPONSES).map(([name, each]) => [name, errorResponse(each)]));
  return `${indented(schemas, 4)}  responses:\n${indented(responses, 4)}`;
}

function errorSchema(code: ErrorCode): object {
  const entry: ErrorEntry = ERROR_CODES[code];
  const canNameField = entry.param !== undefined || entry.status === 400;
  return {
    description: entry.advice,
    type: 'object',
    required: ['message', 'type', 'code', ...(entry.param === undefined ? [] : ['param']), 'metadata'],
    additionalProperties: false,
    properties: {
      message: messageSchema(entry.message),
      type: { const: entry.type },
      code: { const: code },
      ...(canNameField ? { param: { type: 'string' } } : {}),
      metadata: METADATA[code] ?? { type: 'object', maxProperties: 0 },
      ...(code === 'invalid_request' ? { details: DETAILS } : {}),
    },
  };
}

/** A message with `{placeholders}` becomes a pattern. A lone placeholder is any text. */
function messageSchema(message: string): object {
  if (message === '{problem}') return { type: 'string', minLength: 1 };
  if (!message.includes('{')) return { const: message };
  const pattern = message.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\w+\}/g, '[\\s\\S]*');
  return { type: 'string', pattern: `^${pattern}$` };
}

function errorResponse({ description, codes, isOfMessages, headers = [] }: ErrorResponse): object {
  // Errors that Envoy itself creates have the format of chat completions.
  const ofMessages = isOfMessages ? ['request-id-if-read'] : [];
  const all = ['x-request-id', ...ofMessages, 'cache-control', 'x-content-type-options', ...headers];
  return {
    description,
    headers: Object.fromEntries(
      all.map((name) => [name.replace(/-if-\w+$/, ''), { $ref: `#/components/headers/${name}` }]),
    ),
    content: {
      'application/json': {
        schema: {
          type: 'object',
          required: ['error'],
          additionalProperties: false,
          properties: {
            ...(isOfMessages ? { type: { const: 'error' }, request_id: { type: 'string' } } : {}),
            error: oneOfErrors(codes),
          },
        },
      },
    },
  };
}

function oneOfErrors(codes: readonly ErrorCode[]): object {
  const refs = codes.map((code) => ({ $ref: `#/components/schemas/${code}` }));
  return { oneOf: refs, discriminator: { propertyName: 'code' } };
}

/** Block style, with small members on one line each. */
function indented(value: object, by: number): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Map: (_, map) => {
      map.flow = map.items.length <= 2 && map.items.every((pair) => isScalar(pair.value));
    },
    Seq: (_, list) => {
      list.flow = list.items.every((item) => isScalar(item));
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false }).replace(/^(?=.)/gm, ' '.repeat(by));
}

/** The document with its generated part up to date. */
export function withErrors(document: string): string {
  const start = document.indexOf(BEGIN);
  const end = document.indexOf(END);
  if (start < 0 || end < start) throw new Error(`docs/openapi.yaml needs ${BEGIN} and, below it, ${END}`);
  return document.slice(0, start + BEGIN.length) + errorsPart() + document.slice(end);
}
