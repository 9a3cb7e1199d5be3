import { parseIpAddress } from './ip-ranges.ts';

/** Azure's metadata and DNS service has an address of the public range. */
const METADATA = new Set(['168.63.129.16']);
/** The only IPv6 addresses that are routed on the Internet. */
const GLOBAL_UNICAST_FIRST_BITS = 0b001;

/**
 * True for an address on the Internet: not one of this machine, a private network, a carrier's, a
 * cloud's metadata service, or a way of writing one of them in IPv6.
 */
export function isPublicAddress(text: string): boolean {
  const address = parseIpAddress(text);
  if (address === undefined || address.range() !== 'unicast') return false;
  if (address.kind() === 'ipv4') return !METADATA.has(address.toString());
  const [first = 0] = address.toByteArray();
  return first >> 5 === GLOBAL_UNICAST_FIRST_BITS;
}
