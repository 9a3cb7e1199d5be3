import { isIP, isIPv4 } from 'node:net';

/** An address as eight 16-bit groups; an IPv4 address (also one mapped into IPv6) has two of them. */
type Groups = readonly number[];

interface Range {
  readonly groups: Groups;
  readonly prefixLength: number;
}

/** Compiled ranges, shared by all keys: bounded, and simply emptied when full, because compiling again costs about a microsecond. */
const MAX_COMPILED = 4096;
const compiled = new Map<string, Range | undefined>();

/** Whether `address` lies in one of the CIDRs. Text that is no address lies in none; a CIDR that is none contains nothing. */
export function inRanges(address: string, ranges: readonly string[]): boolean {
  if (ranges.length === 0) return false;
  const groups = parseAddress(address);
  return groups !== undefined && ranges.some((text) => contains(compileRange(text), groups));
}

/** The address in one spelling per address: `::ffff:10.0.0.1` is `10.0.0.1`, no zone. `undefined` when it is none. */
export function normalizeAddress(text: string): string | undefined {
  // It has one spelling only.
  if (isIPv4(text)) return text;
  const groups = parseAddress(text);
  if (!groups) return undefined;
  if (groups.length === 2) return groups.map((group) => `${group >> 8}.${group & 255}`).join('.');
  return new URL(`http://[${groups.map((group) => group.toString(16)).join(':')}]`).hostname.slice(1, -1);
}

function compileRange(text: string): Range | undefined {
  if (compiled.has(text)) return compiled.get(text);
  if (compiled.size >= MAX_COMPILED) compiled.clear();
  const range = parseRange(text);
  compiled.set(text, range);
  return range;
}

function parseRange(text: string): Range | undefined {
  const [address = '', length, ...rest] = text.split('/');
  const version = isIP(address);
  const groups = parseAddress(address);
  if (!groups || rest.length > 0) return undefined;
  const widest = version === 4 ? 32 : 128;
  if (length === undefined) return { groups, prefixLength: groups.length * 16 };
  if (!/^\d{1,3}$/.test(length) || Number(length) > widest) return undefined;
  if (version === 4 || groups.length === 8) return { groups, prefixLength: Number(length) };
  // A mapped range inside ::ffff:0:0/96 is an IPv4 range; a wider one would reach beyond IPv4 and is taken for nothing.
  return Number(length) < 96 ? undefined : { groups, prefixLength: Number(length) - 96 };
}

function contains(range: Range | undefined, address: Groups): boolean {
  if (!range || range.groups.length !== address.length) return false;
  let bitsLeft = range.prefixLength;
  for (let i = 0; bitsLeft > 0; i++, bitsLeft -= 16) {
    const shift = bitsLeft >= 16 ? 0 : 16 - bitsLeft;
    if ((range.groups[i] ?? 0) >> shift !== (address[i] ?? 0) >> shift) return false;
  }
  return true;
}

function parseAddress(text: string): Groups | undefined {
  // The longest IPv6 text has 45 characters; a zone adds an interface name.
  if (text.length > 64) return undefined;
  const version = isIP(text);
  if (version === 0) return undefined;
  return version === 4 ? parseIpv4(text) : parseIpv6(text.split('%', 1)[0] ?? '');
}

function parseIpv4(text: string): Groups {
  const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number);
  return [a * 256 + b, c * 256 + d];
}

/** `text` is valid IPv6. */
function parseIpv6(text: string): Groups {
  const [head = '', tail] = text.split('::');
  const left = groupsOf(head);
  const right = tail === undefined ? [] : groupsOf(tail);
  const groups = [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right];
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  return mapped ? groups.slice(6) : groups;
}

function groupsOf(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => (group.includes('.') ? parseIpv4(group) : [Number.parseInt(group, 16)]));
}
