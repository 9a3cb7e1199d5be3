import type { Api, Body, Endpoint, PathParameter, ProblemCode, ProblemView, Query, ResponseOf } from '#contract/api.ts';
import { queryText } from '#contract/define-search.ts';
import { readServerClock } from './server-clock.ts';

/** Longer than every deadline of the server, so that the server's own response comes first. */
const TIMEOUT_MS = 20_000;

/** Sends a GET request. Rejects with an ApiProblem, like `send`. */
export function ask<E extends AskEndpoint>(
  endpoint: E,
  input: AskInput<E>,
  signal?: AbortSignal,
): Promise<ResponseOf<E>> {
  return request(endpoint, input, undefined, signal) as Promise<ResponseOf<E>>;
}

export function send<E extends SendEndpoint>(endpoint: E, ...[input]: Optional<SendInput<E>>): Promise<ResponseOf<E>> {
  const { params, body = {} } = (input ?? {}) as { params?: Values['params']; body?: unknown };
  return request(endpoint, { params }, body) as Promise<ResponseOf<E>>;
}

async function request(
  endpoint: AskEndpoint | SendEndpoint,
  values: Values,
  body: unknown,
  signal?: AbortSignal,
): Promise<unknown> {
  const { method, url } = endpointUrl(endpoint, values);
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(url, {
      method,
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    readServerClock(response);
    const parsed = readJson(await response.text());
    if (!response.ok || parsed === undefined) throw problemFrom(response.status, parsed);
    return parsed;
  } catch (error) {
    // TanStack Query expects its own abort reason.
    if (error instanceof ApiProblem || signal?.aborted) throw error;
    throw deadline.aborted
      ? new ApiProblem({ problem: 'timed_out', message: 'The dashboard server did not answer in time.' })
      : new ApiProblem({ problem: 'unreachable', message: 'The dashboard server cannot be reached.' });
  }
}

/** Parses JSON. `undefined` if it is malformed. An empty body counts as an empty object. */
function readJson(text: string): unknown {
  if (text === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export type AskEndpoint = Extract<Endpoint, `GET ${string}`>;
export type SendEndpoint = Exclude<Endpoint, AskEndpoint>;

/** `undefined` counts as absent, so that the state of a filter can be passed as it is. */
type Loose<Q> = { readonly [K in keyof Q]: Q[K] | undefined };
type WithParams<E extends Endpoint> = [PathParameter<E>] extends [never]
  ? { readonly params?: undefined }
  : { readonly params: Readonly<Record<PathParameter<E>, string>> };
type WithQuery<E extends AskEndpoint> = keyof Query<E> extends never
  ? { readonly query?: undefined }
  : Partial<Query<E>> extends Query<E>
    ? { readonly query?: Loose<Query<E>> }
    : { readonly query: Loose<Query<E>> };
type WithBody<E extends SendEndpoint> = keyof Body<E> extends never
  ? { readonly body?: undefined }
  : { readonly body: Body<E> };

export type AskInput<E extends AskEndpoint> = WithParams<E> & WithQuery<E>;
export type SendInput<E extends SendEndpoint> = WithParams<E> & WithBody<E>;
/** Makes the input optional if all of its fields are. */
export type Optional<Input> = Partial<Input> extends Input ? [input?: Input] : [input: Input];

export interface Values {
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
}

export function endpointUrl(endpoint: keyof Api, { params = {}, query = {} }: Values): { method: string; url: string } {
  const space = endpoint.indexOf(' ');
  const path = endpoint.slice(space + 1).replace(/:(\w+)/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined || value === '') throw new Error(`${endpoint} needs ${name}`);
    return encodeURIComponent(value);
  });
  return { method: endpoint.slice(0, space), url: path + queryText(query) };
}

/** `unreachable`: no response; `timed_out`: none within the deadline. Both may be retried. */
type ProblemKind = ProblemCode | 'unreachable' | 'timed_out';

/** A failed request. It is an Error, because TanStack Query expects query functions to throw. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';
  readonly problem: ProblemKind;
  readonly fields: Readonly<Record<string, string>>;
  readonly retryAfterSeconds: number | undefined;

  constructor(view: Omit<ProblemView, 'problem'> & { readonly problem: ProblemKind }) {
    super(view.message);
    this.problem = view.problem;
    this.fields = view.fields ?? {};
    this.retryAfterSeconds = view.retryAfterSeconds;
  }

  /** True if the server was not reached. The request itself may be valid. */
  get isConnection(): boolean {
    return this.problem === 'unreachable' || this.problem === 'timed_out';
  }
}

/** The problem in a response. A proxy in between may send something other than our JSON. */
export function problemFrom(status: number, body: unknown): ApiProblem {
  if (isProblemView(body)) return new ApiProblem(body);
  if (status === 401) return new ApiProblem({ problem: 'not_signed_in', message: 'You are not signed in.' });
  if (status === 502 || status === 503 || status === 504)
    return new ApiProblem({ problem: 'unreachable', message: 'The dashboard server cannot be reached.' });
  return new ApiProblem({ problem: 'internal', message: 'The dashboard server sent a response that cannot be read.' });
}

function isProblemView(body: unknown): body is ProblemView {
  if (typeof body !== 'object' || body === null) return false;
  const { problem, message } = body as Partial<Record<keyof ProblemView, unknown>>;
  return typeof problem === 'string' && typeof message === 'string';
}
