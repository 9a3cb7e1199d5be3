import { inRanges, normalizeAddress } from '../../../core/net/ip-ranges.ts';
import { clientAddress, withoutPort } from '../../../ext-proc/access/client-address.ts';
import type { Settings } from './settings.ts';

/** What is known of a request before anybody is signed in. */
export interface Caller {
  /** Behind trusted proxies the one that they name. */
  readonly address: string;
  /** Present: `address` forwards for this caller, or says so, and is no trusted proxy. */
  readonly claimedAddress?: string;
  /** At most 200 characters. */
  readonly userAgent?: string;
  /** Origin under which the browser knows this server: `https://dashboard.example.com`. */
  readonly origin: string;
}

export interface RequestHead {
  readonly peerAddress: string;
  header(name: string): string | undefined;
}

const USER_AGENT_CHARACTERS = 200;
const MAX_CLAIM_CHARACTERS = 64;

export function callerOf(head: RequestHead, settings: Settings): Caller {
  const address = clientAddress(head.peerAddress, head.header('x-forwarded-for'), settings.trustedProxies);
  const userAgent = head.header('user-agent')?.slice(0, USER_AGENT_CHARACTERS);
  const claimedAddress = claimOf(head, settings);
  return {
    address,
    origin: originOf(head, settings),
    ...(userAgent ? { userAgent } : {}),
    ...(claimedAddress === undefined ? {} : { claimedAddress }),
  };
}

export function isTrustedProxy(address: string, { trustedProxies }: Pick<Settings, 'trustedProxies'>): boolean {
  return inRanges(address, trustedProxies);
}

/** The last that was added: by a proxy that nobody named, as far as there is one. */
function claimOf(head: RequestHead, { trustedProxies }: Settings): string | undefined {
  const forwardedFor = head.header('x-forwarded-for');
  const forwarded = head.header('forwarded');
  if (forwardedFor === undefined && forwarded === undefined) return undefined;
  if (isTrustedProxy(head.peerAddress, { trustedProxies })) return undefined;
  const last = (forwardedFor ?? forwarded ?? '').split(',').at(-1)?.trim() ?? '';
  const named = forwardedFor === undefined ? (/(?:^|;)\s*for="?([^";]+)/i.exec(last)?.[1] ?? '') : last;
  return normalizeAddress(withoutPort(named)) ?? named.slice(0, MAX_CLAIM_CHARACTERS);
}

/** The configured one; otherwise what the browser asked for, with the scheme as a trusted proxy tells it. */
function originOf(head: RequestHead, { url, trustedProxies }: Settings): string {
  if (url !== undefined) return url.origin;
  const secure = head.header('x-forwarded-proto') === 'https' && isTrustedProxy(head.peerAddress, { trustedProxies });
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
