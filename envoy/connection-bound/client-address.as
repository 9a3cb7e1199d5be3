// Finds the buckets of counts for a client address. The hash is seeded, so nobody can choose an
// address that shares a bucket with somebody else's.

import { getProperty, OK, result } from "./host";

export const BUCKETS: u32 = 65536;
export const NO_BUCKET: i32 = -1;

const COLON: u8 = 58;
const DOT: u8 = 46;
const BRACKET: u8 = 91;
const CLOSING_BRACKET: u8 = 93;

/** `source\0address` */
const SOURCE_ADDRESS = memory.data<u8>([115, 111, 117, 114, 99, 101, 0, 97, 100, 100, 114, 101, 115, 115]);
const SOURCE_ADDRESS_BYTES: usize = 14;

/** Bucket of the peer's IPv4 address or IPv6 /64. */
export let clientBucket: i32 = NO_BUCKET;
/**
 * Bucket of the peer's IPv6 /48, which may belong to one customer of a provider. It is numbered
 * after the buckets of addresses.
 */
export let networkBucket: i32 = NO_BUCKET;

/**
 * Sets both buckets from the peer's address without its port, which Envoy gives as `192.0.2.1:4711`
 * or `[2001:db8::1]:4711`.
 */
export function findBuckets(seed: u32): void {
  clientBucket = NO_BUCKET;
  networkBucket = NO_BUCKET;
  if (getProperty(SOURCE_ADDRESS, SOURCE_ADDRESS_BYTES, result, result + 4) != OK) return;
  const text = load<usize>(result);
  const end = text + load<usize>(result + 4);
  if (end > text) {
    if (load<u8>(text) != BRACKET) clientBucket = hashUntil(COLON, text, end, seed) % BUCKETS;
    else if (hasDot(text, end)) clientBucket = hashOfMappedIpv4(text, end, seed) % BUCKETS;
    else {
      clientBucket = hashOfIpv6(text + 1, end, 4, seed) % BUCKETS;
      networkBucket = BUCKETS + (hashOfIpv6(text + 1, end, 3, seed) % BUCKETS);
    }
  }
  heap.free(text);
}

function hashUntil(end: u8, text: usize, textEnd: usize, seed: u32): u32 {
  let hash = seed;
  for (let at = text; at < textEnd && load<u8>(at) != end; at++) hash = mix(hash, load<u8>(at));
  return hash;
}

/** Hashes the first `most` groups of 16 bits; `::` stands for as many zeros as are missing. */
function hashOfIpv6(text: usize, textEnd: usize, most: i32, seed: u32): u32 {
  let hash = seed;
  let groups = 0;
  let group: u32 = 0;
  let previous: u8 = 0;
  for (let at = text; at < textEnd && groups < most; at++) {
    const char = load<u8>(at);
    if (char == CLOSING_BRACKET) break;
    if (char == COLON && previous == COLON) break;
    if (char == COLON) {
      hash = mix(mix(hash, group >> 8), group & 255);
      group = 0;
      groups++;
    } else group = (group << 4) | (char >= 97 ? char - 87 : char - 48);
    previous = char;
  }
  for (; groups < most; groups++) hash = mix(mix(hash, 0), 0);
  return hash;
}

/** Only `::ffff:192.0.2.1` is written with dots. */
function hasDot(text: usize, textEnd: usize): bool {
  for (let at = text; at < textEnd; at++) if (load<u8>(at) == DOT) return true;
  return false;
}

function hashOfMappedIpv4(text: usize, textEnd: usize, seed: u32): u32 {
  let begin = text;
  for (let at = text; at < textEnd && load<u8>(at) != CLOSING_BRACKET; at++) if (load<u8>(at) == COLON) begin = at + 1;
  return hashUntil(CLOSING_BRACKET, begin, textEnd, seed);
}

/** Mixes one byte into the hash as MurmurHash3 does. */
function mix(hash: u32, byte: u32): u32 {
  let mixed = (hash ^ byte) * 0x85ebca6b;
  mixed ^= mixed >> 13;
  mixed *= 0xc2b2ae35;
  return mixed ^ (mixed >> 16);
}
