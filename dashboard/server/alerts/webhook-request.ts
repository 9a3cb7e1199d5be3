import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import type { AttemptResult } from '#database/alerts/outbox.ts';
import { checkedLookup, isAllowed, type PrivateNetworks, RefusedAddress } from './checked-lookup.ts';

/** A request to a customer's URL. Only the status is kept, which hides services of this network. */
export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const DEADLINE_MS = 10_000;
/** Read and discarded up to this size, because a receiver may count a reset as a failure. */
const MAX_RESPONSE_BYTES = 64 * 1024;
/** Far more than a receiver sends before its response. */
const MAX_INFORMATIONAL = 10;
/** Also used for names without an address, so that names in this network cannot be discovered. */
const REFUSED_ADDRESS = 'this is not an address on the Internet';

/** Returns the result of the attempt, without its duration. */
export async function sendWebhook(
  { url: text, headers, body }: WebhookRequest,
  networks: PrivateNetworks,
): Promise<Pick<AttemptResult, 'kind' | 'text'>> {
  const url = URL.parse(text);
  const problem = url === null ? 'this is not a URL' : webhookUrlProblem(url, networks);
  if (url === null || problem !== undefined) return { kind: 'failed', text: problem ?? '' };
  try {
    const status = await statusOf(url, headers, body, networks);
    return status >= 200 && status < 300
      ? { kind: 'delivered', text: `status ${status}` }
      : {
          kind: 'failed',
          text: `status ${status}${status >= 300 && status < 400 ? ', redirects are not followed' : ''}`,
        };
  } catch (error) {
    return { kind: 'failed', text: wordsOf(error) };
  }
}

/** Reason why requests to this URL are not allowed, as far as the URL itself shows it. */
export function webhookUrlProblem(url: URL, networks: PrivateNetworks): string | undefined {
  const isHttp = url.protocol === 'http:';
  if (url.protocol !== 'https:' && !(isHttp && networks.length > 0)) return 'the URL must begin with https://';
  if (url.username !== '' || url.password !== '') return 'the URL must not have credentials';
  const host = hostOf(url);
  if (isIP(host) !== 0 && !isAllowed(host, isHttp, networks)) return REFUSED_ADDRESS;
  return undefined;
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

function statusOf(
  url: URL,
  headers: WebhookRequest['headers'],
  body: string,
  networks: PrivateNetworks,
): Promise<number> {
  const isHttp = url.protocol === 'http:';
  const signal = AbortSignal.timeout(DEADLINE_MS);
  return new Promise((resolve, reject) => {
    const request = (isHttp ? requestHttp : requestHttps)(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      // Uses a new connection, because its address is checked for this request.
      agent: false,
      lookup: checkedLookup(isHttp, networks, signal),
      signal,
      maxHeaderSize: 16 * 1024,
    });
    request.once('error', reject);
    // If the response is an upgrade, Node destroys the request and emits neither an error nor a
    // response.
    request.once('close', () => reject(new Error('closed without a response')));
    let informational = 0;
    request.on('information', () => {
      if (++informational > MAX_INFORMATIONAL) request.destroy(new Error('too many 1xx responses'));
    });
    request.once('response', (response) => {
      let bytes = 0;
      const done = () => {
        resolve(response.statusCode ?? 0);
        request.destroy();
      };
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_RESPONSE_BYTES) done();
      });
      response.once('end', done);
      response.once('error', done);
    });
    request.end(body);
  });
}

const WORDS: Readonly<Record<string, string>> = {
  ENOTFOUND: REFUSED_ADDRESS,
  EAI_AGAIN: REFUSED_ADDRESS,
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed',
  ETIMEDOUT: 'no connection in time',
  ABORT_ERR: 'no response in time',
};

/** The gateway's own words. An error of a library may quote the receiver's response. */
function wordsOf(error: unknown): string {
  if (error instanceof RefusedAddress) return REFUSED_ADDRESS;
  const { code = '', name } = error as NodeJS.ErrnoException;
  if (name === 'AbortError' || name === 'TimeoutError') return 'no response in time';
  if (/CERT|SELF_SIGNED|ERR_TLS|UNABLE_TO/.test(code)) return 'the certificate is not valid';
  return WORDS[code] ?? (code.startsWith('HPE_') ? 'this is not an HTTP response' : 'the request failed');
}
