import { hash } from 'node:crypto';
import { type IpAddress, parseIpAddress } from '../../core/net/ip-ranges.ts';

/** Origin of an attempt. */
export interface AttemptOrigin {
  readonly address: string;
  /**
   * Absent: the address is the caller's. Present: `address` sent X-Forwarded-For and is no trusted
   * proxy, so it is a proxy that nobody named, or somebody who makes it up; this is the caller that
   * it names.
   */
  readonly claimedAddress?: string;
}

/**
 * Subjects that attempts from one origin count against: the caller, as closely as it is known, and
 * the network around it, if there is one.
 */
export interface OriginSubjects {
  readonly near: string;
  readonly wide?: { readonly subject: string; readonly max: number };
}

const MAX_BY_NETWORK = 100;
/**
 * Bound of all callers that a proxy names which is not trusted: each has its share, and one machine
 * may make up any number of them.
 */
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

/** A caller with one IPv6 address has the 2^64 addresses around it too. */
export function addressSubject(address: string): string {
  const parsed = parseIpAddress(address);
  if (parsed === undefined) return `address ${address.slice(0, MAX_CHARACTERS)}`;
  return 'parts' in parsed ? `address ${groupsOf(parsed, 4)}::/64` : `address ${parsed}`;
}

/**
 * The /48 that providers give to one customer, who makes any number of /64s in it; `undefined` for
 * IPv4.
 */
export function networkSubject(address: string): string | undefined {
  const parsed = parseIpAddress(address);
  return parsed !== undefined && 'parts' in parsed ? `network ${groupsOf(parsed, 3)}::/48` : undefined;
}

/** The first groups in hexadecimal. */
function groupsOf({ parts }: Extract<IpAddress, { parts: number[] }>, count: number): string {
  const groups = parts.slice(0, count).map((part) => part.toString(16));
  return groups.join(':');
}
