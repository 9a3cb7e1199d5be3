import { type Refusal, refuse } from '#core/errors/refusal.ts';
import { isObject } from '#core/json-object.ts';
import type { Unsayable } from '../../dialects/dialect.ts';
import type { AccountErrorKind, ProviderWork } from '../../hold/attempt.ts';
import { accountErrorOf, contextCountsIn, isContentRefusal, isContextError, judged } from './account-error.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import { type ProviderWords, wordsOf } from './provider-words.ts';
import { redactSecrets } from './redact-secrets.ts';

/**
 * Failure of an attempt: the error for the client if no other attempt succeeds, and which attempt
 * may follow (docs/interface.md, "Failures of providers").
 */
export interface ProviderFailure extends Verdict {
  readonly kind: 'failure';
  /** For log and metrics: one of a bounded set, never the provider's words. */
  readonly result: string;
  readonly retryAfterMs?: number;
  /** The target rests for this time: it is not called while another target can be. */
  readonly restMs?: number;
  /** Present if the operator's account at the provider failed, which only the operator may see. */
  readonly account?: AccountErrorKind;
  /** The provider's own words and field, for `invalid_request`. */
  readonly problem?: string;
  readonly param?: string;
  /** The provider's own counts, for `context_length_exceeded`. */
  readonly counts?: { readonly needed: number; readonly limit: number };
}

export interface Verdict {
  readonly code:
    | 'invalid_request'
    | 'context_length_exceeded'
    | 'upstream_config_error'
    | 'no_capacity'
    | 'request_timeout'
    | 'upstream_error'
    | 'internal_error';
  /** Next attempt. `same`: this target again; `next`: another target; `none`: none would help. */
  readonly retry: 'same' | 'next' | 'none';
}

const INVALID_REQUEST_FINAL: Verdict = { code: 'invalid_request', retry: 'none' };
const CONTEXT_LENGTH_FINAL: Verdict = { code: 'context_length_exceeded', retry: 'none' };
const CONFIG_ERROR_RETRY_NEXT: Verdict = { code: 'upstream_config_error', retry: 'next' };
const NO_CAPACITY_RETRY_SAME: Verdict = { code: 'no_capacity', retry: 'same' };
const NO_CAPACITY_RETRY_NEXT: Verdict = { code: 'no_capacity', retry: 'next' };
const TIMEOUT_RETRY_SAME: Verdict = { code: 'request_timeout', retry: 'same' };
const TIMEOUT_FINAL: Verdict = { code: 'request_timeout', retry: 'none' };
const UPSTREAM_ERROR_RETRY_SAME: Verdict = { code: 'upstream_error', retry: 'same' };
/** Not the same provider again: it may bill the work already. */
const UPSTREAM_ERROR_RETRY_NEXT: Verdict = { code: 'upstream_error', retry: 'next' };

/** The provider's own words are not shown: Groq's name the operator's organization. */
const TOO_LARGE: Verdict & Pick<ProviderFailure, 'problem'> = {
  ...{ code: 'invalid_request', retry: 'next' },
  problem: 'The request is too large for the provider of the model.',
};

const BY_STATUS: Readonly<Record<number, Verdict>> = {
  400: INVALID_REQUEST_FINAL,
  401: CONFIG_ERROR_RETRY_NEXT,
  403: CONFIG_ERROR_RETRY_NEXT,
  404: CONFIG_ERROR_RETRY_NEXT,
  408: TIMEOUT_RETRY_SAME,
  413: TOO_LARGE,
  422: INVALID_REQUEST_FINAL,
  429: NO_CAPACITY_RETRY_SAME,
  504: TIMEOUT_RETRY_SAME,
  529: NO_CAPACITY_RETRY_SAME,
};
const FIRST_SERVER_ERROR = 500;

/** Envoy's flags on its own replies, most specific first: after retries `UF` is beside `URX`. */
const BY_ENVOY_FLAG: readonly (readonly [flags: readonly string[], result: string, verdict: Verdict])[] = [
  [['NC', 'NR'], 'no_cluster', CONFIG_ERROR_RETRY_NEXT],
  [['UF'], 'connect_failed', UPSTREAM_ERROR_RETRY_SAME],
  [['UH'], 'ejected', NO_CAPACITY_RETRY_NEXT],
  [['UO'], 'overflow', NO_CAPACITY_RETRY_NEXT],
  [['UT', 'UMSDR', 'SI', 'DT'], 'envoy_timeout', TIMEOUT_RETRY_SAME],
];

export const FAILURES = {
  reset: failure('reset', UPSTREAM_ERROR_RETRY_NEXT),
  /** Envoy's egress listener did not accept the whole request, so no provider has seen it. */
  egressUnreachable: failure('egress_unreachable', NO_CAPACITY_RETRY_SAME),
  unsendable: failure('unsendable', CONFIG_ERROR_RETRY_NEXT),
  /** Not the same provider again: it works on the request and bills it. */
  firstByte: failure('first_byte_timeout', { code: 'request_timeout', retry: 'next' }),
  deadline: failure('total_timeout', TIMEOUT_FINAL),
  stall: failure('stall', { code: 'request_timeout', retry: 'next' }),
  tooLarge: failure('too_large', UPSTREAM_ERROR_RETRY_NEXT),
  /** Too many large responses are in memory. */
  noRoom: failure('no_room', { code: 'no_capacity', retry: 'none' }),
  encoded: failure('encoded', UPSTREAM_ERROR_RETRY_NEXT),
  malformed: failure('malformed', UPSTREAM_ERROR_RETRY_NEXT),
  /** The endpoint picker has no endpoint for the request. */
  notPicked: failure('not_picked', NO_CAPACITY_RETRY_NEXT),
  /** Envoy has no token for the provider yet. */
  tokenPending: failure('no_token', NO_CAPACITY_RETRY_SAME),
  /** Envoy gets no token for the provider. */
  noToken: failure('no_token', NO_CAPACITY_RETRY_NEXT),
  tokenRefused: { ...failure('token_refused', CONFIG_ERROR_RETRY_NEXT), account: 'credentials' },
  /** A stream that ended before every choice was finished. */
  incomplete: failure('incomplete', UPSTREAM_ERROR_RETRY_NEXT),
  /** The thread that translates bodies took too long or broke. */
  untranslated: failure('untranslated', NO_CAPACITY_RETRY_NEXT),
  /** The process ends, and this request was still running at the end of the drain. */
  processEnds: failure('process_ends', { code: 'no_capacity', retry: 'none' }),
  /** The client left, and the response is not read to its end. */
  abandoned: failure('abandoned', { code: 'internal_error', retry: 'none' }),
} as const satisfies Record<string, ProviderFailure>;

/** Results with which no provider has seen the request. */
const NOT_SENT = new Set([
  FAILURES.egressUnreachable.result,
  FAILURES.unsendable.result,
  FAILURES.noToken.result,
  FAILURES.tokenRefused.result,
  ...BY_ENVOY_FLAG.filter(([, , verdict]) => verdict !== TIMEOUT_RETRY_SAME).map(([, result]) => result),
]);

export function workFor({ result }: ProviderFailure, wasSent: boolean): ProviderWork {
  if (!wasSent || NOT_SENT.has(result)) return 'none';
  return result === ERROR_BODY || result.startsWith('status_') ? 'refused' : 'some';
}

/** Describes an error status. `body`: parsed, or its text if it is not JSON. */
export function statusFailure(status: number, body?: unknown, retryAfterMs?: number): ProviderFailure {
  const said = wordsOf(body);
  const account = accountErrorOf(status, said);
  const pause = { ...(retryAfterMs === undefined ? {} : { retryAfterMs }), ...restOf(status, retryAfterMs) };
  if (account !== undefined) return { ...accountFailure(status, account), ...pause };
  if (status === 403 && isContentRefusal(said)) return { ...failure(REFUSED_CONTENT, INVALID_REQUEST_FINAL), ...pause };
  const verdict =
    BY_STATUS[status] ?? (status >= FIRST_SERVER_ERROR ? UPSTREAM_ERROR_RETRY_SAME : UPSTREAM_ERROR_RETRY_NEXT);
  const rejected = verdict === INVALID_REQUEST_FINAL ? rejection(said, typeof body === 'string') : verdict;
  return { ...failure(`status_${status}`, rejected), ...pause };
}

const LONGEST_REST_MS = 60_000;
const USUAL_REST_MS = 5_000;

/** Each 429 makes the target rest: a quota that is used up does not return within seconds. */
function restOf(status: number, retryAfterMs: number | undefined): Pick<ProviderFailure, 'restMs'> {
  if (status !== 429 && (status !== 503 || retryAfterMs === undefined)) return {};
  return { restMs: Math.min(retryAfterMs ?? USUAL_REST_MS, LONGEST_REST_MS) };
}

const RESULT_OF_ACCOUNT = { credentials: 'auth', funds: 'funds' } as const;

function accountFailure(status: number, account: AccountErrorKind): ProviderFailure {
  const verdict = account === 'funds' ? NO_CAPACITY_RETRY_NEXT : CONFIG_ERROR_RETRY_NEXT;
  const isUsual = status === 402 || (account === 'credentials' && BY_STATUS[status] === CONFIG_ERROR_RETRY_NEXT);
  const result = isUsual ? `status_${status}` : `status_${status}_${RESULT_OF_ACCOUNT[account]}`;
  return { ...failure(result, verdict), account };
}

/** Describes a rejected request. Text that is not JSON is not shown to the client. */
function rejection(said: ProviderWords, isBareText: boolean): Verdict & Partial<ProviderFailure> {
  if (isContextError(said)) {
    const counts = contextCountsIn(said);
    return { ...CONTEXT_LENGTH_FINAL, ...(counts === undefined ? {} : { counts }) };
  }
  return {
    ...INVALID_REQUEST_FINAL,
    ...(said.text === '' || isBareText ? {} : { problem: said.text }),
    ...(said.param === undefined ? {} : { param: said.param }),
  };
}

const UNSAYABLE = 'unsayable';

/** Describes a request that the target's API cannot express. */
export function unsayable({ param, problem }: Unsayable): ProviderFailure {
  return { ...failure(UNSAYABLE, { code: 'invalid_request', retry: 'next' }), param, problem };
}

export function isUnsayable({ result }: ProviderFailure): boolean {
  return result === UNSAYABLE;
}

/** True if this target can never take the request. Another one may. */
export function isTargetUnfit({ code, retry }: ProviderFailure): boolean {
  return code === 'invalid_request' && retry === 'next';
}

export function envoyFailure(responseFlags: string): ProviderFailure {
  const flags = new Set(responseFlags.split(/[^A-Z]+/));
  for (const [known, result, verdict] of BY_ENVOY_FLAG) {
    if (known.some((flag) => flags.has(flag))) return failure(result, verdict);
  }
  return FAILURES.reset;
}

const ERROR_BODY = 'error_body';

/** Describes an error in a 200. A status inside it counts like an ordinary status. */
export function bodyFailure(body: unknown): ProviderFailure {
  const [first] = Array.isArray(body) ? body : [body];
  const error = isObject(first) ? first.error : undefined;
  const status = isObject(error) ? (statusIn(error.code) ?? statusIn(error.status)) : undefined;
  if (status !== undefined) return { ...statusFailure(status, body), result: ERROR_BODY };
  const account = judged(wordsOf(body));
  if (account === undefined) return failure(ERROR_BODY, UPSTREAM_ERROR_RETRY_SAME);
  return { ...failure(ERROR_BODY, account === 'funds' ? NO_CAPACITY_RETRY_NEXT : CONFIG_ERROR_RETRY_NEXT), account };
}

function statusIn(value: unknown): number | undefined {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined;
}

const MAX_PROBLEM_CHARACTERS = 1000;
const MAX_PARAM_CHARACTERS = 200;

/**
 * Removes what a client must not see: providers repeat keys and name their customer, the operator
 * (docs/design.md, "Invariants", 9).
 */
export function withoutSecrets(failed: ProviderFailure, secrets: readonly string[]): ProviderFailure {
  const { problem, param } = failed;
  if (problem === undefined && param === undefined) return failed;
  return {
    ...failed,
    ...(problem === undefined ? {} : { problem: redactSecrets(problem, secrets) }),
    ...(param === undefined ? {} : { param: redactSecrets(param, secrets) }),
  };
}

/** Result of a 403 about the content. The provider's text may name the operator's team and key. */
const REFUSED_CONTENT = 'status_403_content';

function ownWords({ result }: ProviderFailure): string {
  return result === REFUSED_CONTENT
    ? "The model's provider refused the content of the request."
    : 'The model rejected the request.';
}

/** Error for the client if nothing was delivered. */
export function refusalOf(admitted: AdmittedRequest, failed: ProviderFailure): Refusal {
  switch (failed.code) {
    case 'invalid_request':
      return refuse(
        failed.code,
        { problem: failed.problem?.slice(0, MAX_PROBLEM_CHARACTERS) ?? ownWords(failed) },
        failed.param === undefined ? {} : { param: failed.param.slice(0, MAX_PARAM_CHARACTERS) },
      );
    case 'context_length_exceeded':
      return refuse(failed.code, contextOf(admitted, failed));
    case 'upstream_config_error':
      return refuse(failed.code, { model: admitted.model.id });
    case 'request_timeout':
      return noAnswer();
    default:
      return refuse(failed.code);
  }
}

function noAnswer(): Refusal {
  return refuse('request_timeout', { problem: 'The model did not answer in time.' });
}

/** Figures for the message. The provider counts more than our estimate or has a smaller window. */
function contextOf({ chat, model }: AdmittedRequest, { counts }: ProviderFailure) {
  if (counts !== undefined) return { estimated_tokens: counts.needed, context_window: counts.limit };
  const estimated = chat.inputTokens.estimate + (chat.maxTokens ?? 0);
  return { estimated_tokens: Math.max(estimated, model.contextWindow + 1), context_window: model.contextWindow };
}

/** Refusal that ends a begun stream. Either code allows a charge for what was delivered. */
export function brokenStreamRefusal(failed: ProviderFailure): Refusal {
  return failed.code === 'request_timeout' ? noAnswer() : refuse('upstream_error');
}

function failure(result: string, verdict: Verdict): ProviderFailure {
  return { kind: 'failure', result, ...verdict };
}
