import { hash } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';

/** Origin of an attempt. */
export interface AttemptOrigin {
  readonly address: string;
  /**
   * Absent: the address is the caller's. Present: `address` sent X-Forwarded-For and is no trusted proxy, so it is a proxy that nobody named, or
   * somebody who makes it up; this is the caller that it names.
   */
  readonly claimedAddress?: string;
}

/** Subjects that attempts from one origin count against: the caller, as closely as it is known, and the network around it, if there is one. */
export interface OriginSubjects {
  readonly near: string;
  readonly wide?: { readonly subject: string; readonly max: number };
}

const MAX_BY_NETWORK = 100;
/** Bound of all callers that a proxy names which is not trusted: each has its share, and one machine may make up any number of them. */
const MAX_BY_UNTRUSTED_PROXY = 1_000;
const MAX_CHARACTERS = 64;

export function originSubjects({ address, claimedAddress }: AttemptOrigin): OriginSubjects {
  if (claimedAddress !== undefined) {
    const proxy = addressSubject(address);
    const near = `${proxy} for ${addressSubject(claimedAddress)}`;
    return { near, wide: { subject: `proxy ${proxy}`, max: MAX_BY_UNTRUSTED_PROXY } };
  }
  const near = addressSubject(address);
  const network = networkSubject(address);
  return network === undefined ? { near } : { near, wide: { subject: network, max: MAX_BY_NETWORK } };
}

/** Hashed: people type passwords into the wrong field. */
export function accountSubject(email: string): string {
  return `account ${hash('sha256', email.trim().toLowerCase(), 'hex')}`;
}

/** A caller with one IPv6 address has the 2^64 around it too. */
export function addressSubject(address: string): string {
  const groups = ipv6Groups(address);
  if (groups === undefined) return `address ${withoutMapping(address).slice(0, MAX_CHARACTERS)}`;
  return `address ${groups.join(':')}::/64`;
}

/** The /48 that providers give to one customer, of which the /64s are made at will; `undefined` for IPv4. */
export function networkSubject(address: string): string | undefined {
  const groups = ipv6Groups(address);
  return groups && `network ${groups.slice(0, 3).join(':')}::/48`;
}

function withoutMapping(address: string): string {
  return address.replace(/^::ffff:/i, '');
}

/** The first four groups; `undefined`: no IPv6 address. */
function ipv6Groups(address: string): readonly string[] | undefined {
  if (isIPv4(withoutMapping(address)) || !isIPv6(address)) return undefined;
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const front = head === '' ? [] : head.split(':');
  // A dotted end stands for two groups; it never reaches into the first four of those that are written out.
  const back =
    tail === undefined || tail === ''
      ? []
      : tail.split(':').flatMap((group) => (group.includes('.') ? ['', ''] : [group]));
  const zeros = tail === undefined ? 0 : 8 - front.length - back.length;
  const groups = [...front, ...Array<string>(Math.max(zeros, 0)).fill('0'), ...back].slice(0, 4);
  return groups.map((group) => Number.parseInt(group, 16).toString(16));
}
