// Bounds the open connections of one client address: a network filter of Envoy (Proxy-Wasm ABI 0.2.1), because Envoy has none. Written in
// AssemblyScript, a language like TypeScript; `node envoy/connection-bound/build.ts` makes connection-bound.wasm of it.
//
// All threads of Envoy count in its shared data, in 65,536 buckets chosen by a seeded hash: memory stays bounded whatever addresses come,
// and nobody can choose an address that shares a bucket with somebody else's. The configuration is two decimal numbers, MOST and SEED.

@external("env", "proxy_get_property")
declare function getProperty(path: usize, pathBytes: usize, value: usize, valueBytes: usize): i32;
@external("env", "proxy_get_buffer_bytes")
declare function getBuffer(kind: i32, start: i32, most: i32, value: usize, valueBytes: usize): i32;
@external("env", "proxy_get_shared_data")
declare function getShared(key: usize, keyBytes: usize, value: usize, valueBytes: usize, version: usize): i32;
@external("env", "proxy_set_shared_data")
declare function setShared(key: usize, keyBytes: usize, value: usize, valueBytes: usize, version: u32): i32;
@external("env", "proxy_close_stream")
declare function closeStream(kind: i32): i32;

const OK: i32 = 0;
/** Another thread has changed the value meanwhile. */
const CAS_MISMATCH: i32 = 8;
const PLUGIN_CONFIGURATION: i32 = 7;
const DOWNSTREAM: i32 = 2;
const CONTINUE: i32 = 0;
const STOP_ITERATION: i32 = 1;
const BUCKETS: u32 = 65536;
const NO_BUCKET: i32 = -1;

const COLON: u8 = 58;
const DOT: u8 = 46;
const BRACKET: u8 = 91;
const CLOSING_BRACKET: u8 = 93;

/** `source\0address` */
const SOURCE_ADDRESS = memory.data<u8>([115, 111, 117, 114, 99, 101, 0, 97, 100, 100, 114, 101, 115, 115]);
const SOURCE_ADDRESS_BYTES: usize = 14;
/** Where the host writes pointer, length and version of what was asked for. */
const result = memory.data(12);
const bucketKey = memory.data(4);
const bucketCount = memory.data(4);

let most: u32 = 0;
let seed: u32 = 0;

export function proxy_abi_version_0_2_1(): void {}

/** For what the host hands over; it is freed here once it has been read. */
export function proxy_on_memory_allocate(bytes: usize): usize {
  return heap.alloc(bytes);
}

export function proxy_on_vm_start(context: i32, bytes: i32): i32 {
  return 1;
}

export function proxy_on_configure(context: i32, bytes: i32): i32 {
  if (getBuffer(PLUGIN_CONFIGURATION, 0, bytes, result, result + 4) != OK) return 0;
  const text = load<usize>(result);
  const end = text + load<usize>(result + 4);
  most = 0;
  seed = 0;
  let at = text;
  for (; at < end && load<u8>(at) != 32; at++) most = most * 10 + (load<u8>(at) - 48);
  for (at++; at < end; at++) seed = seed * 10 + (load<u8>(at) - 48);
  heap.free(text);
  return most > 0 ? 1 : 0;
}

export function proxy_on_context_create(context: i32, parent: i32): void {}

export function proxy_on_new_connection(context: i32): i32 {
  const bucket = bucketOfPeer();
  if (bucket == NO_BUCKET || add(bucket, 1) <= most) return CONTINUE;
  // It is counted until its close, which takes it off again.
  closeStream(DOWNSTREAM);
  return STOP_ITERATION;
}

export function proxy_on_downstream_connection_close(context: i32, by: i32): void {
  const bucket = bucketOfPeer();
  if (bucket != NO_BUCKET) add(bucket, -1);
}

export function proxy_on_done(context: i32): i32 {
  return 1;
}

export function proxy_on_log(context: i32): void {}

export function proxy_on_delete(context: i32): void {}

/** The new count. */
function add(bucket: i32, change: i32): u32 {
  store<i32>(bucketKey, bucket);
  let stored = CAS_MISMATCH;
  while (stored == CAS_MISMATCH) {
    let count: u32 = 0;
    let version: u32 = 0;
    if (getShared(bucketKey, 4, result, result + 4, result + 8) == OK) {
      const value = load<usize>(result);
      count = load<u32>(value);
      version = load<u32>(result + 8);
      heap.free(value);
    }
    store<u32>(bucketCount, count + change);
    stored = setShared(bucketKey, 4, bucketCount, 4, version);
  }
  return load<u32>(bucketCount);
}

/** By the address without its port: `192.0.2.1:4711`, or `[2001:db8::1]:4711`, of which the first 64 bits count. */
function bucketOfPeer(): i32 {
  if (getProperty(SOURCE_ADDRESS, SOURCE_ADDRESS_BYTES, result, result + 4) != OK) return NO_BUCKET;
  const text = load<usize>(result);
  const bytes = load<usize>(result + 4);
  const hash = bytes > 0 && load<u8>(text) == BRACKET ? hashOfIpv6(text + 1, text + bytes) : hashUntil(COLON, text, text + bytes);
  heap.free(text);
  return hash % BUCKETS;
}

function hashUntil(end: u8, text: usize, textEnd: usize): u32 {
  let hash = seed;
  for (let at = text; at < textEnd && load<u8>(at) != end; at++) hash = mix(hash, load<u8>(at));
  return hash;
}

/** Four groups of 16 bits; `::` stands for as many zeros as are missing, of which at most four matter. */
function hashOfIpv6(text: usize, textEnd: usize): u32 {
  let hash = seed;
  let groups = 0;
  let group: u32 = 0;
  let previous: u8 = 0;
  for (let at = text; at < textEnd && groups < 4; at++) {
    const char = load<u8>(at);
    if (char == DOT) return hashOfMappedIpv4(text, textEnd);
    if (char == CLOSING_BRACKET) break;
    if (char == COLON && previous == COLON) break;
    if (char == COLON) {
      hash = mix(mix(hash, group >> 8), group & 255);
      group = 0;
      groups++;
    } else group = (group << 4) | (char >= 97 ? char - 87 : char - 48);
    previous = char;
  }
  // `::1` and `::ffff:192.0.2.1` begin with it; the latter is the IPv4 address.
  if (groups <= 1) for (let at = text; at < textEnd; at++) if (load<u8>(at) == DOT) return hashOfMappedIpv4(text, textEnd);
  for (; groups < 4; groups++) hash = mix(mix(hash, 0), 0);
  return hash;
}

function hashOfMappedIpv4(text: usize, textEnd: usize): u32 {
  let begin = text;
  for (let at = text; at < textEnd && load<u8>(at) != CLOSING_BRACKET; at++) if (load<u8>(at) == COLON) begin = at + 1;
  return hashUntil(CLOSING_BRACKET, begin, textEnd);
}

/** MurmurHash3's mixing, a byte at a time. */
function mix(hash: u32, byte: u32): u32 {
  let mixed = (hash ^ byte) * 0x85ebca6b;
  mixed ^= mixed >> 13;
  mixed *= 0xc2b2ae35;
  return mixed ^ (mixed >> 16);
}
