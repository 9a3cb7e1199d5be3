import type { CustomFetch } from 'openid-client';
import { lookupsInTurn } from '../fairness/name-lookups.ts';

/** A request to the issuer that is not allowed, or a response that is not usable. */
export class UnusableIssuer extends Error {
  override readonly name = 'UnusableIssuer';
}

/** Far above the size of an issuer's metadata, key set, token response or user info. */
const MAX_RESPONSE_BYTES = 256 * 1024;

/**
 * A fetch for one issuer, which may be hostile. Bodies are bounded after decompression, redirects
 * are not followed, and metadata cannot lead to another host unless that has a public name.
 */
export function boundedFetch(issuer: URL): CustomFetch {
  return async (url, options) => {
    if (!isEndpoint(issuer, URL.parse(url))) throw new UnusableIssuer('the issuer names an endpoint that is not asked');
    await lookUp(new URL(url).hostname, options.signal ?? new AbortController().signal);
    const response = await fetch(url, { ...(options as RequestInit), redirect: 'manual' });
    const { status, headers } = response;
    return new Response(await readBounded(response), { status, headers });
  };
}

const inTurn = lookupsInTurn();

/**
 * Resolves a name in turn, before `fetch` resolves it again. An aborted `fetch` leaves its lookup
 * running, so without turns any number of lookups would wait for a silent name server.
 */
async function lookUp(host: string, signal: AbortSignal): Promise<void> {
  if (host.startsWith('[')) return;
  try {
    await inTurn(host, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw new UnusableIssuer(`the name ${host} is not resolved`, { cause: error });
  }
}

const IP_LITERAL = /^(?:[\d.]+|\[.*\])$/;
/**
 * Names that have a meaning only on this machine or network: RFC 6761, 6762, 8375, ICANN's
 * reservation of `internal`, services of Kubernetes, and names that routers use.
 */
const OWN_NETWORK = /(?:^|\.)(?:localhost|local|internal|home\.arpa|svc|lan|home|corp|intranet)$/;

/**
 * True if an endpoint from the issuer's metadata may be called or shown to a browser. Names without
 * a dot are of the own network. Only the issuer itself may have such a name.
 */
export function isEndpoint(issuer: URL, endpoint: URL | null): endpoint is URL {
  if (endpoint === null || endpoint.username !== '' || endpoint.password !== '') return false;
  if (endpoint.hostname === issuer.hostname) return ['https:', issuer.protocol].includes(endpoint.protocol);
  const name = endpoint.hostname.replace(/\.$/, '');
  const isPublicName = name.includes('.') && !IP_LITERAL.test(name) && !OWN_NETWORK.test(name);
  return endpoint.protocol === 'https:' && endpoint.port === '' && isPublicName;
}

async function readBounded({ body, status }: Response): Promise<Uint8Array<ArrayBuffer> | null> {
  if (body === null || [204, 205, 304].includes(status)) return null;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the body.
    if (bytes > MAX_RESPONSE_BYTES) throw new UnusableIssuer(`a response exceeds ${MAX_RESPONSE_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
