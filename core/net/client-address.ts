import { inRanges, normalizeAddress } from './ip-ranges.ts';

/** More proxies in a row than any deployment has. Entries further left are not read. */
const MAX_HOPS = 64;

/**
 * The address of a caller: the socket's peer, unless it is a trusted proxy (`trusted_proxies` of
 * the configuration). Then the last address in X-Forwarded-For that is not a trusted proxy, or the
 * leftmost one if all are trusted. Envoy appends the peer itself to that header
 * (`use_remote_address`), which is one more trusted entry to skip. An entry that is no address ends
 * the search: its writer did not know the caller, so entries left of it cannot be trusted, and the
 * request counts as coming from that proxy.
 */
export function clientAddress(
  peer: string,
  xForwardedFor: string | undefined,
  trustedProxies: readonly string[],
): string {
  const peerAddress = normalizeAddress(peer);
  if (peerAddress === undefined) return '';
  if (xForwardedFor === undefined || !inRanges(peerAddress, trustedProxies)) return peerAddress;
  let nearest = peerAddress;
  let end = xForwardedFor.length;
  for (let hop = 0; hop < MAX_HOPS && end >= 0; hop++) {
    const comma = end === 0 ? -1 : xForwardedFor.lastIndexOf(',', end - 1);
    const address = normalizeAddress(withoutPort(xForwardedFor.slice(comma + 1, end).trim()));
    if (address === undefined) return nearest;
    nearest = address;
    if (!inRanges(address, trustedProxies)) return nearest;
    end = comma;
  }
  return nearest;
}

/** Strips the port that some proxies write: `192.0.2.1:4711` or `[2001:db8::1]:4711`. */
export function withoutPort(entry: string): string {
  return /^(\d+(?:\.\d+){3}):\d{1,5}$/.exec(entry)?.[1] ?? /^\[([^\]]+)\](?::\d{1,5})?$/.exec(entry)?.[1] ?? entry;
}
