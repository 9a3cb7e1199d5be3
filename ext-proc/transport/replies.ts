import { ProcessingResponse } from '../../proto/generated/ext_proc.ts';
import { encodeAnswer } from './answer-messages.ts';
import type { Answer } from './exchange.ts';
import { frame } from './grpc-frame.ts';
import { ON_EVERY_ANSWER } from './response-head.ts';
import { encodeRoute } from './route-message.ts';

/** The messages that the process sends to Envoy, framed for the wire. */

export const STREAM_HEADER = 'x-gw-stream';
const CLUSTER_HEADER = 'x-gw-cluster';

/**
 * A whole answer on the ext_proc stream; without its end unless `ended`. A HEAD request gets the headers of the answer and no body
 * (RFC 9110, 9.3.2).
 */
export function inPlaceAnswer(answer: Answer, method: string, ended: boolean): Buffer {
  const headers = [':status', String(answer.status), ...ON_EVERY_ANSWER];
  for (const name in answer.headers) headers.push(name, answer.headers[name] ?? '');
  headers.push('content-length', String(answer.body.length));
  const bodyless = method === 'HEAD' || answer.body.length === 0;
  return encodeAnswer({ headers, body: bodyless ? undefined : answer.body, ended });
}

/** The end of an answer that was sent without it. */
export const END_OF_ANSWER: Buffer = encode({ streamedImmediateResponse: { bodyResponse: { endOfStream: true } } });

/**
 * Sends the request on to the stream listener of this process, without anything that the client wrote: its secrets have no business on
 * another socket, and a header or a query that Envoy takes but Node's parser does not, or answers by itself (`expect`), would become an
 * answer without our envelope. `clientHeaders` are the names of all headers of the request. After `withinMs` Envoy ends what is left of it:
 * while a client takes nothing Envoy reads nothing from us either, and would not notice that we have given up.
 */
export function routeToStream(
  streamId: string,
  clusterName: string,
  clientHeaders: Iterable<string>,
  withinMs: number,
): Buffer {
  return encodeRoute({
    setHeaders: [
      ':path',
      '/',
      STREAM_HEADER,
      streamId,
      CLUSTER_HEADER,
      clusterName,
      'x-envoy-upstream-rq-timeout-ms',
      String(Math.max(1, Math.ceil(withinMs))),
    ],
    removeHeaders: [...clientHeaders].filter(isRemovable),
  });
}

/** Envoy wrote these itself: the id goes into the answer, and without the scheme it finds no route. */
const ENVOYS_OWN: ReadonlySet<string> = new Set(['host', 'x-request-id', 'x-forwarded-proto']);

/** Pseudo-headers, the host and `x-envoy-*` nobody may remove. */
function isRemovable(name: string): boolean {
  return !name.startsWith(':') && !name.startsWith('x-envoy-') && !ENVOYS_OWN.has(name);
}

/** Drops the request's body and ends it. */
export const NO_BODY: Buffer = encode({
  requestBody: { response: { bodyMutation: { streamedResponse: { endOfStream: true } } } },
});

/** Accepts the request's trailers, which is what ends a request that has them. */
export const ACCEPT_TRAILERS: Buffer = encode({ requestTrailers: {} });

function encode(message: ProcessingResponse): Buffer {
  return frame(ProcessingResponse.encode(message).finish());
}
