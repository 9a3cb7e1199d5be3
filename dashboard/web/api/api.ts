import type { ResponseOf } from '#contract/api.ts';
import {
  type AskEndpoint,
  type AskInput,
  endpointUrl,
  type Optional,
  type SendEndpoint,
  type SendInput,
  type Values,
} from './endpoint-url.ts';
import { ApiProblem, problemFrom } from './problem.ts';

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

/** Sends a request that changes something. */
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

/** `undefined` for text that is no JSON. An empty body counts as an empty object. */
function readJson(text: string): unknown {
  if (text === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
