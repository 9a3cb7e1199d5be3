import { clientAddress } from '../../../ext-proc/admission/client-address.ts';
import { inRanges } from '../../../ext-proc/admission/ip-ranges.ts';
import type { Settings } from '../settings.ts';

/** What is known of a request before anybody is signed in. */
export interface Caller {
  /** Behind trusted proxies the one that they name. */
  readonly address: string;
  /** At most 200 characters. */
  readonly userAgent?: string;
  /** Origin under which the browser knows this server: `https://dashboard.example.com`. */
  readonly origin: string;
}

/** The session's cookie: what came, and what is to be sent. */
export interface Cookies {
  readonly token: string | undefined;
  setToken(token: string, maxAgeSeconds: number): void;
  clearToken(): void;
}

export interface RequestHead {
  readonly peerAddress: string;
  header(name: string): string | undefined;
}

const USER_AGENT_CHARACTERS = 200;

export function callerOf(head: RequestHead, settings: Settings): Caller {
  const address = clientAddress(head.peerAddress, head.header('x-forwarded-for'), settings.trustedProxies);
  const userAgent = head.header('user-agent')?.slice(0, USER_AGENT_CHARACTERS);
  return { address, origin: originOf(head, settings), ...(userAgent ? { userAgent } : {}) };
}

/** The configured one; otherwise what the browser asked for, with the scheme as a trusted proxy tells it. */
function originOf(head: RequestHead, { url, trustedProxies }: Settings): string {
  if (url !== undefined) return url.origin;
  const secure = head.header('x-forwarded-proto') === 'https' && inRanges(head.peerAddress, trustedProxies);
  return `${secure ? 'https' : 'http'}://${head.header('host') ?? ''}`;
}

/**
 * A request that changes something comes from our own page: browsers say the origin with every one of them, and other sites cannot make
 * them lie. The cookie's SameSite is the second lock.
 */
export function isCrossSite(method: string, head: RequestHead, { origin }: Caller): boolean {
  const site = head.header('sec-fetch-site');
  if (method === 'GET' || method === 'HEAD') return site !== undefined && site !== 'same-origin' && site !== 'none';
  const from = head.header('origin');
  return from === undefined ? site !== 'same-origin' : from !== origin;
}
