import type { HttpResponseStream } from './streams/response-stream.ts';

/**
 * The response of an exchange. Its transitions:
 * - open → in_place: `respond`, on the ext_proc stream
 * - open → routing: `openStream`, or a large `respond`. Envoy will bring the request to the stream
 * listener
 * - routing → streaming: Envoy has brought it
 * - open → gone: the client left before a response
 * - routing → gone: the client left, or the deadline passed, before Envoy brought the request
 * - streaming → gone: the response was cut
 *
 * A response that is complete stays in_place or streaming. The deadline is not a state: an expired
 * exchange keeps its response, so that it can be aborted repeatedly.
 */
export type ResponseState =
  | { readonly kind: 'open' }
  | InPlace
  | { readonly kind: 'routing'; readonly streamId: string }
  | { readonly kind: 'streaming'; readonly response: HttpResponseStream }
  | { readonly kind: 'gone' };

export interface InPlace {
  readonly kind: 'in_place';
  /** Resolves when the ext_proc stream has ended. */
  readonly ended: PromiseWithResolvers<void>;
  /** Runs while only the response's end is missing, because the body is still arriving. */
  linger: NodeJS.Timeout | undefined;
}

export const OPEN: ResponseState = { kind: 'open' };
export const GONE: ResponseState = { kind: 'gone' };
