import { clientAddress, withoutPort } from '#core/net/client-address.ts';
import { inRanges, normalizeAddress } from '#core/net/ip-ranges.ts';
import type { Settings } from './settings.ts';

export interface Caller {
  /** Address of the peer, or of the client that a trusted proxy names. */
  readonly address: string;
  /** Present if an untrusted peer sent headers that name this address as its client. */
  readonly claimedAddress?: string;
  /** At most 200 characters. */
  readonly userAgent?: string;
  /** Origin under which the browser knows this server, such as `https://dashboard.example.com`. */
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

/** The last forwarded address, if an untrusted proxy added one. */
function claimOf(head: RequestHead, { trustedProxies }: Settings): string | undefined {
  const forwardedFor = head.header('x-forwarded-for');
  const forwarded = head.header('forwarded');
  if (forwardedFor === undefined && forwarded === undefined) return undefined;
  if (isTrustedProxy(head.peerAddress, { trustedProxies })) return undefined;
  const last = (forwardedFor ?? forwarded ?? '').split(',').at(-1)?.trim() ?? '';
  const named = forwardedFor === undefined ? (/(?:^|;)\s*for="?([^";]+)/i.exec(last)?.[1] ?? '') : last;
  return normalizeAddress(withoutPort(named)) ?? named.slice(0, MAX_CLAIM_CHARACTERS);
}

/** The configured origin, or the requested host with the scheme from a trusted proxy. */
function originOf(head: RequestHead, { url, trustedProxies }: Settings): string {
  if (url !== undefined) return url.origin;
  const secure = head.header('x-forwarded-proto') === 'https' && isTrustedProxy(head.peerAddress, { trustedProxies });
  return `${secure ? 'https' : 'http'}://${head.header('host') ?? ''}`;
}

/**
 * False only for requests from our own page if they change something. Browsers send the origin with
 * each of them, and most send its relation to ours as well. Other sites can forge neither. The
 * cookie's SameSite attribute is a further barrier.
 */
export function isCrossSite(method: string, head: RequestHead, { origin }: Caller): boolean {
  const site = head.header('sec-fetch-site');
  const isForeign = site !== undefined && site !== 'same-origin' && site !== 'none';
  if (isForeign || method === 'GET' || method === 'HEAD') return isForeign;
  const from = head.header('origin');
  return from === undefined ? site !== 'same-origin' : from !== origin;
}
