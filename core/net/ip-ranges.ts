import ipaddr from 'ipaddr.js';

/**
 * Addresses and address ranges (CIDR). The command line, the configuration, admission, the
 * dashboard and its page all use this file, so a range means the same to all.
 */
export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

export interface IpRange {
  /** As written, so bits behind the prefix may be set. */
  readonly address: IpAddress;
  readonly prefixLength: number;
}

/** Compiled ranges of all keys. A full map is emptied: compiling again costs microseconds. */
const MAX_COMPILED = 4096;
const compiled = new Map<string, IpRange | undefined>();

/** `::ffff:0:0/96` holds the IPv4 addresses inside IPv6. */
const MAPPED_BITS = 96;
/** Canonical text. The library's own test costs 0.6 us. */
const MAPPED = /^::ffff:[0-9a-f]{1,4}:[0-9a-f]{1,4}$/;
/** The longest IPv6 address has 45 characters; a zone adds the name of an interface. */
const MAX_WITH_ZONE = 64;

/** True if `address` is in a range. Malformed addresses are in none; malformed ranges are empty. */
export function inRanges(address: string, ranges: readonly string[]): boolean {
  if (ranges.length === 0) return false;
  const parsed = parseIpAddress(address);
  return parsed !== undefined && ranges.some((text) => contains(compileRange(text), parsed));
}

/** One spelling of an address: `::ffff:10.0.0.1` is `10.0.0.1`; no zone. `undefined`: invalid. */
export function normalizeAddress(text: string): string | undefined {
  if (isIpv4(text)) return text;
  const canonical = canonicalIpv6(text);
  return canonical !== undefined && MAPPED.test(canonical) ? parseIpAddress(canonical)?.toString() : canonical;
}

/**
 * Reads a range such as `10.0.0.0/8` or `fd00::/8`. An address alone is its own range. A range of
 * IPv4 addresses inside IPv6 becomes the range of IPv4; a wider one reaches beyond IPv4 and is
 * refused.
 */
export function parseIpRange(text: string): IpRange | undefined {
  const [named = '', bits, ...rest] = text.split('/');
  if (rest.length > 0 || named.includes('%')) return undefined;
  const address = parseIpAddress(named);
  if (address === undefined || (bits !== undefined && !/^\d{1,3}$/.test(bits))) return undefined;
  const longest = bitsOf(address);
  const outside = longest === 32 && named.includes(':') ? MAPPED_BITS : 0;
  const prefixLength = bits === undefined ? longest : Number(bits) - outside;
  return prefixLength >= 0 && prefixLength <= longest ? { address, prefixLength } : undefined;
}

export function isIpRange(text: string): boolean {
  return parseIpRange(text) !== undefined;
}

/** One spelling of a range: `::ffff:10.0.0.0/104` is `10.0.0.0/8`. `undefined`: no range. */
export function normalizeIpRange(text: string): string | undefined {
  const range = parseIpRange(text);
  if (range === undefined) return undefined;
  const { address, prefixLength } = range;
  return prefixLength === bitsOf(address) ? address.toString() : `${address}/${prefixLength}`;
}

/** IPv4 inside IPv6 becomes IPv4, and a zone is dropped. */
export function parseIpAddress(text: string): IpAddress | undefined {
  if (isIpv4(text)) return new ipaddr.IPv4(text.split('.').map(Number));
  const canonical = canonicalIpv6(text);
  if (canonical === undefined) return undefined;
  const address = ipaddr.IPv6.parse(canonical);
  return MAPPED.test(canonical) ? address.toIPv4Address() : address;
}

function bitsOf(address: IpAddress): 32 | 128 {
  return address.kind() === 'ipv4' ? 32 : 128;
}

function compileRange(text: string): IpRange | undefined {
  if (compiled.has(text)) return compiled.get(text);
  if (compiled.size >= MAX_COMPILED) compiled.clear();
  const range = parseIpRange(text);
  compiled.set(text, range);
  return range;
}

function contains(range: IpRange | undefined, address: IpAddress): boolean {
  return range?.address.kind() === address.kind() && address.match(range.address, range.prefixLength);
}

/** The library also reads octal, hex and short IPv4 (`010.0.0.1`), which others read otherwise. */
function isIpv4(text: string): boolean {
  return text.length <= 15 && /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(text);
}

/**
 * The URL parser of the platform agrees with `net.isIPv6` on valid addresses; the library also
 * accepts groups of five digits.
 */
function canonicalIpv6(text: string): string | undefined {
  if (text.length > MAX_WITH_ZONE) return undefined;
  const [, address] = /^([0-9A-Fa-f:.]{2,45})(?:%[0-9A-Za-z.:-]+)?$/.exec(text) ?? [];
  return address === undefined ? undefined : URL.parse(`http://[${address}]`)?.hostname.slice(1, -1);
}
