import type { LookupFunction } from 'node:net';
import { inRanges, parseIpAddress } from '#core/net/ip-ranges.ts';
import { lookupsInTurn } from '../fairness/name-lookups.ts';

/** Networks that may be reached although they are not public, over http as well. */
export type PrivateNetworks = readonly string[];

/** Azure's metadata and DNS service, whose address is in a public range. */
const METADATA = new Set(['168.63.129.16']);
/** First bits of the only IPv6 addresses that are routed on the Internet. */
const GLOBAL_UNICAST_FIRST_BITS = 0b001;

export class RefusedAddress extends Error {}

export function isAllowed(address: string, isHttp: boolean, networks: PrivateNetworks): boolean {
  return inRanges(address, networks) || (!isHttp && isPublicAddress(address));
}

/**
 * Lookup for one connection. It resolves the name and checks every address before the connection
 * gets them, so no later reply of a name server can lead to an address that is not allowed. If one
 * address is refused, all are. A lookup that is still waiting when `signal` aborts is not made.
 */
export function checkedLookup(isHttp: boolean, networks: PrivateNetworks, signal: AbortSignal): LookupFunction {
  return (host, options, callback) => {
    inTurn(host, signal).then(
      (found) => {
        const [first] = found;
        if (first === undefined || !found.every(({ address }) => isAllowed(address, isHttp, networks)))
          return callback(new RefusedAddress(), '');
        if (options.all) callback(null, found);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };
}

const inTurn = lookupsInTurn();

/**
 * True for an address on the Internet. False for addresses of this machine, a private network, a
 * carrier or a cloud's metadata service, and for IPv6 forms of these.
 */
export function isPublicAddress(text: string): boolean {
  const address = parseIpAddress(text);
  if (address === undefined || address.range() !== 'unicast') return false;
  if (address.kind() === 'ipv4') return !METADATA.has(address.toString());
  const [first = 0] = address.toByteArray();
  return first >> 5 === GLOBAL_UNICAST_FIRST_BITS;
}
