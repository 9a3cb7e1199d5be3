import { HeaderAppendAction, type HeaderValue, ProcessingResponse } from '../../proto/generated/ext_proc.ts';
import type { Answer } from './exchange.ts';
import { frame } from './grpc-frame.ts';

/** The messages that the process sends to Envoy, framed for the wire. */

export const STREAM_HEADER = 'x-gw-stream';
export const CLUSTER_HEADER = 'x-gw-cluster';

/**
 * A whole answer on the ext_proc stream; without its end unless `ended`. A HEAD request gets the headers of the answer and no body
 * (RFC 9110, 9.3.2).
 */
export function inPlaceAnswer(answer: Answer, method: string, ended: boolean): Buffer {
  const bodyless = method === 'HEAD' || answer.body.length === 0;
  const headers: HeaderValue[] = [headerValue(':status', String(answer.status))];
  for (const [name, value] of Object.entries(answer.headers)) headers.push(headerValue(name, value));
  headers.push(headerValue('content-length', String(answer.body.length)));
  const head = encode({
    streamedImmediateResponse: { headersResponse: { headers: { headers }, endOfStream: bodyless && ended } },
  });
  if (bodyless) return head;
  const body = encode({ streamedImmediateResponse: { bodyResponse: { body: answer.body, endOfStream: ended } } });
  return Buffer.concat([head, body], head.length + body.length);
}

/** The end of an answer that was sent without it. */
export const END_OF_ANSWER: Buffer = encode({ streamedImmediateResponse: { bodyResponse: { endOfStream: true } } });

/** Sends the request on to the stream listener of this process. Envoy overwrites what a client put into these headers. */
export function routeToStream(streamId: string, clusterName: string): Buffer {
  return encode({
    requestHeaders: {
      response: {
        headerMutation: {
          setHeaders: [overwrite(STREAM_HEADER, streamId), overwrite(CLUSTER_HEADER, clusterName)],
          // The request's body is dropped, and the caller's secrets have no business on another socket.
          removeHeaders: ['content-length', 'authorization', 'cookie'],
        },
        clearRouteCache: true,
      },
    },
  });
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

function headerValue(key: string, value: string): HeaderValue {
  return { key, rawValue: Buffer.from(value, 'latin1') };
}

function overwrite(key: string, value: string) {
  return { header: headerValue(key, value), appendAction: HeaderAppendAction.OVERWRITE_IF_EXISTS_OR_ADD };
}
