import { hash } from 'node:crypto';
import { type IpAddress, parseIpAddress } from '#core/net/ip-ranges.ts';

export interface AttemptOrigin {
  readonly address: string;
  /**
   * The client that `address` names in X-Forwarded-For without being a trusted proxy. Either it is
   * a proxy that is not configured, or it invents the header. Absent: the address is the client's
   * own.
   */
  readonly claimedAddress?: string;
  /** Present for a sign-in at the issuer, whose shares wrong passwords do not use up. */
  readonly atIssuer?: true;
}

/** Subjects of attempts from one origin: the client as precisely as known, and its network. */
export interface OriginSubjects {
  readonly near: string;
  readonly wide?: { readonly subject: string; readonly max: number };
}

const MAX_BY_NETWORK = 100;
/** Limit for all clients that an untrusted proxy names: it may invent any number of them. */
const MAX_BY_UNTRUSTED_PROXY = 1_000;
const MAX_CHARACTERS = 64;

export function originSubjects(origin: AttemptOrigin): OriginSubjects {
  const subjects = subjectsOf(origin);
  if (!origin.atIssuer) return subjects;
  const { near, wide } = subjects;
  const ofNetwork = wide && { wide: { ...wide, subject: `issuer ${wide.subject}` } };
  return { near: `issuer ${near}`, ...ofNetwork };
}

function subjectsOf({ address, claimedAddress }: AttemptOrigin): OriginSubjects {
  if (claimedAddress !== undefined) {
    const proxy = addressSubject(address);
    const near = `${proxy} for ${addressSubject(claimedAddress)}`;
    return { near, wide: { subject: `proxy ${proxy}`, max: MAX_BY_UNTRUSTED_PROXY } };
  }
  const near = addressSubject(address);
  const network = networkSubject(address);
  return network === undefined ? { near } : { near, wide: { subject: network, max: MAX_BY_NETWORK } };
}

/** Hashed, because people type passwords into the wrong field. */
export function accountSubject(email: string): string {
  return `account ${hash('sha256', email.trim().toLowerCase(), 'hex')}`;
}

/** Subject of an address. For IPv6 it is the /64, because one client has all of its addresses. */
export function addressSubject(address: string): string {
  const parsed = parseIpAddress(address);
  if (parsed === undefined) return `address ${address.slice(0, MAX_CHARACTERS)}`;
  return 'parts' in parsed ? `address ${groupsOf(parsed, 4)}::/64` : `address ${parsed}`;
}

/** The /48 of an IPv6 address, because one customer has all of its /64s. `undefined` for IPv4. */
export function networkSubject(address: string): string | undefined {
  const parsed = parseIpAddress(address);
  return parsed !== undefined && 'parts' in parsed ? `network ${groupsOf(parsed, 3)}::/48` : undefined;
}

/** The first groups, in hexadecimal. */
function groupsOf({ parts }: Extract<IpAddress, { parts: number[] }>, count: number): string {
  const groups = parts.slice(0, count).map((part) => part.toString(16));
  return groups.join(':');
}
