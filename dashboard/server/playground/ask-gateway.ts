import { type IncomingHttpHeaders, type IncomingMessage, request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';

export interface GatewayRequest {
  /** Base URL, which ends in `/v1`. */
  readonly url: string;
  readonly secret: string;
  readonly body: string;
  /** Cancels the request, even during the response. */
  readonly signal: AbortSignal;
}

export interface GatewayResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: AsyncIterable<Buffer>;
}

/** Longer than any silence of the gateway, which sends heartbeats before the first token. */
const SILENT_MS = 120_000;
/** Longer responses are cut off. This is some 30,000 tokens of a stream. */
export const MAX_RESPONSE_BYTES = 8 * 1024 * 1024;

/**
 * Sends a completion to the API like any client. The connection is closed with the response, so
 * that nothing outlives a play. Redirects are not followed. Rejects if the gateway cannot be
 * reached.
 */
export function askGateway({ url, secret, body, signal }: GatewayRequest): Promise<GatewayResponse> {
  const target = new URL(`${url}/chat/completions`);
  const request = target.protocol === 'https:' ? overHttps : overHttp;
  const headers = {
    authorization: `Bearer ${secret}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'user-agent': 'inference-gateway-playground',
  };
  return new Promise((resolve, reject) => {
    const sent = request(target, { method: 'POST', headers, signal, agent: false, timeout: SILENT_MS }, (response) => {
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: bounded(response) });
    });
    sent.on('timeout', () => sent.destroy(new Error('the gateway was silent for too long')));
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Stops reading, which cancels the request, if the response exceeds the bound. */
async function* bounded(response: IncomingMessage): AsyncGenerator<Buffer> {
  let left = MAX_RESPONSE_BYTES;
  for await (const piece of response as AsyncIterable<Buffer>) {
    left -= piece.length;
    if (left < 0) return;
    yield piece;
  }
}
