import { frame } from './grpc-frame.ts';
import { encodeResponse } from './response-messages.ts';
import { encodeRoute } from './route-message.ts';

/** The messages that the process sends to Envoy, framed for the wire. */

/** Tags of the fields of the messages below, with their numbers in ext_proc.proto. */
const REQUEST_BODY = (3 << 3) | 2;
const REQUEST_TRAILERS = (5 << 3) | 2;
const STREAMED_IMMEDIATE_RESPONSE = (11 << 3) | 2;
const END_OF_STREAM = [2 << 3, 1] as const;

/** Alternating names and values: nothing may be cached, and no JSON be read as a page. */
export const ON_EVERY_RESPONSE: readonly string[] = ['cache-control', 'no-store', 'x-content-type-options', 'nosniff'];

export interface InPlaceResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export const STREAM_HEADER = 'x-gw-stream';
const CLUSTER_HEADER = 'x-gw-cluster';

/**
 * A whole response on the ext_proc stream, but without its end unless `ended`. A HEAD request gets
 * the headers of the response and no body (RFC 9110, HEAD).
 */
export function inPlaceResponse(response: InPlaceResponse, method: string, ended: boolean): Buffer {
  const headers = [':status', String(response.status), ...ON_EVERY_RESPONSE];
  for (const name in response.headers) headers.push(name, response.headers[name] ?? '');
  headers.push('content-length', String(response.body.length));
  const bodyless = method === 'HEAD' || response.body.length === 0;
  return encodeResponse(headers, bodyless ? undefined : response.body, ended);
}

/** The end of a response that was sent without an end. */
export const END_OF_RESPONSE: Buffer = frame(nested([STREAMED_IMMEDIATE_RESPONSE, (2 << 3) | 2], END_OF_STREAM));

/**
 * Routes the request to the stream listener of this process, but without its headers and query. The
 * client's secrets must not appear on another socket. Also, Node's parser rejects some headers that
 * Envoy accepts, or responds to them itself (`expect`), and such a response would lack our
 * envelope. `clientHeaders` are the names of all headers of the request. After `withinMs` Envoy
 * ends the rest of the response: while a client reads nothing, Envoy reads nothing from us either,
 * and would not notice that we have aborted the response.
 */
export function routeToStream(
  streamId: string,
  clusterName: string,
  clientHeaders: Iterable<string>,
  withinMs: number,
): Buffer {
  const timeoutMs = String(Math.max(1, Math.ceil(withinMs)));
  return encodeRoute(
    [':path', '/', STREAM_HEADER, streamId, CLUSTER_HEADER, clusterName, 'x-envoy-upstream-rq-timeout-ms', timeoutMs],
    [...clientHeaders].filter(isRemovable),
  );
}

/** Headers that Envoy needs: the id for the response, host and scheme to find the route. */
const KEPT_HEADERS: ReadonlySet<string> = new Set(['host', 'x-request-id', 'x-forwarded-proto']);

/** Envoy does not let ext_proc remove pseudo-headers, the host and `x-envoy-*`. */
function isRemovable(name: string): boolean {
  return !name.startsWith(':') && !name.startsWith('x-envoy-') && !KEPT_HEADERS.has(name);
}

/** Drops the request's body and ends it. */
export const NO_BODY: Buffer = frame(nested([REQUEST_BODY, (1 << 3) | 2, (3 << 3) | 2, (3 << 3) | 2], END_OF_STREAM));

/** Accepts the request's trailers, which ends a request that has them. */
export const ACCEPT_TRAILERS: Buffer = frame(nested([REQUEST_TRAILERS], []));

/** Nested messages, the outermost first. The innermost contains `content`. */
function nested(tags: readonly number[], content: readonly number[]): Uint8Array {
  const bytes = [...content];
  for (const tag of tags.toReversed()) bytes.unshift(tag, bytes.length);
  return Uint8Array.from(bytes);
}
