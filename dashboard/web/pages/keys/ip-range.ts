/** The address ranges that the server takes (network-names.ts, ip-ranges.ts), read here so that a chip says at once what is wrong with it. */

const MAX_LENGTH = 45;
const IPV6_GROUPS = 8;
/** `::ffff:0:0/96` holds the IPv4 addresses; a range that begins in it and is wider would reach beyond IPv4. */
const MAPPED_BITS = 96;

/** `10.0.0.0/8`, `fd00::/8`, or an address alone. */
export function isIpRange(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  if (rest.length > 0 || address.length > MAX_LENGTH) return false;
  if (bits !== undefined && !/^\d{1,3}$/.test(bits)) return false;
  if (readIpv4(address) !== undefined) return Number(bits ?? 0) <= 32;
  const groups = readIpv6(address);
  if (groups === undefined || Number(bits ?? 0) > 128) return false;
  return bits === undefined || !isMapped(groups) || Number(bits) >= MAPPED_BITS;
}

/** As two 16-bit groups. */
function readIpv4(text: string): readonly number[] | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255))
    return undefined;
  const [a = 0, b = 0, c = 0, d = 0] = parts.map(Number);
  return [a * 256 + b, c * 256 + d];
}

function readIpv6(text: string): readonly number[] | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head = '', tail] = halves;
  // Only the end of the whole address may be written as IPv4.
  const left = readGroups(head, tail === undefined);
  const right = readGroups(tail ?? '', true);
  if (left === undefined || right === undefined) return undefined;
  const missing = IPV6_GROUPS - left.length - right.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  return [...left, ...Array<number>(missing).fill(0), ...right];
}

function readGroups(text: string, mayEndInIpv4: boolean): readonly number[] | undefined {
  if (text === '') return [];
  const parts = text.split(':');
  const last = parts.at(-1) ?? '';
  const ipv4 = mayEndInIpv4 ? readIpv4(last) : undefined;
  const hex = ipv4 === undefined ? parts : parts.slice(0, -1);
  if (!hex.every((part) => /^[0-9A-Fa-f]{1,4}$/.test(part))) return undefined;
  return [...hex.map((part) => Number.parseInt(part, 16)), ...(ipv4 ?? [])];
}

function isMapped(groups: readonly number[]): boolean {
  return groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
}
