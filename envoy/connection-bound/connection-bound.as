// Bounds the open connections of one client address, and how many tiny HTTP/2 DATA frames it sends in a second: a network filter of Envoy
// (Proxy-Wasm ABI 0.2.1), because Envoy has neither bound. Written in AssemblyScript, a language like TypeScript;
// `node envoy/connection-bound/build.ts` makes connection-bound.wasm of it.
//
// Tiny frames: each costs Envoy 0.3 us wherever it leads, so 100 connections of bodies in frames of one byte made all others wait for
// seconds. Here a frame is looked at for some 10 ns, and a connection is closed that goes beyond what its address has left of this second.
//
// Connections: all threads of Envoy count in its shared data, in 65,536 buckets chosen by a seeded hash: memory stays bounded whatever addresses come,
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
@external("env", "proxy_get_current_time_nanoseconds")
declare function getTime(time: usize): i32;

const OK: i32 = 0;
/** Another thread has changed the value meanwhile. */
const CAS_MISMATCH: i32 = 8;
const PLUGIN_CONFIGURATION: i32 = 7;
const DOWNSTREAM_DATA: i32 = 2;
const DOWNSTREAM: i32 = 2;
const CONTINUE: i32 = 0;
const STOP_ITERATION: i32 = 1;
const BUCKETS: u32 = 65536;
const NO_BUCKET: i32 = -1;

/** A DATA frame with less content, and not the last of its body. Clients that stream a body write kilobytes. */
const TINY_BYTES: u32 = 64;
/** In a second, by one address, on one thread: more than a body of 60,000 frames of one byte, and 3 % of the thread. */
const MOST_TINY: u32 = 100_000;
const FRAME_HEAD_BYTES: u8 = 9;
const PREFACE_BYTES: u32 = 24;
const DATA: u8 = 0;
const END_STREAM: u8 = 1;

const COLON: u8 = 58;
const DOT: u8 = 46;
const BRACKET: u8 = 91;
const CLOSING_BRACKET: u8 = 93;

/** `source\0address` */
const SOURCE_ADDRESS = memory.data<u8>([115, 111, 117, 114, 99, 101, 0, 97, 100, 100, 114, 101, 115, 115]);
const SOURCE_ADDRESS_BYTES: usize = 14;
/** The host writes here: pointer, length and version of a value. */
const result = memory.data(12);
const bucketKey = memory.data(4);
const bucketCount = memory.data(4);

/** `PRI`, with which the preface of HTTP/2 begins and no method of HTTP/1. */
const PREFACE = memory.data<u8>([80, 82, 73]);
const time = memory.data(8);
/** Tiny frames of this second, by bucket. */
const tinyFrames = new StaticArray<u32>(BUCKETS);
let tinySecond: u64 = 0;

/** The place of a connection within its HTTP/2 frames. */
class Framing {
  bucket: i32 = NO_BUCKET;
  /** Another protocol: nothing is looked at. */
  isOther: bool = false;
  prefaceBytes: u32 = 0;
  /** The frame that is being read: how much of its head is here, and the fields of the head that are needed. */
  headBytes: u8 = 0;
  contentBytes: u32 = 0;
  type: u8 = 0;
  flags: u8 = 0;
  /** Content that is passed over. */
  skipBytes: u32 = 0;
}

const framings = new Map<i32, Framing>();

let most: u32 = 0;
let seed: u32 = 0;

export function proxy_abi_version_0_2_1(): void {}

/** The host hands over values in this memory. Each is freed here once it has been read. */
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
  const framing = new Framing();
  framing.bucket = bucket;
  framings.set(context, framing);
  if (bucket == NO_BUCKET || add(bucket, 1) <= most) return CONTINUE;
  // A refused connection counts until its close, which takes it off again.
  closeStream(DOWNSTREAM);
  return STOP_ITERATION;
}

export function proxy_on_downstream_data(context: i32, bytes: i32, isLast: i32): i32 {
  if (!framings.has(context)) return CONTINUE;
  const framing = framings.get(context);
  if (framing.isOther || bytes == 0 || getBuffer(DOWNSTREAM_DATA, 0, bytes, result, result + 4) != OK) return CONTINUE;
  const data = load<usize>(result);
  const tiny = countTiny(framing, data, data + load<usize>(result + 4));
  heap.free(data);
  if (tiny == 0 || framing.bucket == NO_BUCKET || noteTiny(framing.bucket, tiny) <= MOST_TINY) return CONTINUE;
  closeStream(DOWNSTREAM);
  return STOP_ITERATION;
}

export function proxy_on_downstream_connection_close(context: i32, by: i32): void {
  if (!framings.has(context)) return;
  const bucket = framings.get(context).bucket;
  framings.delete(context);
  if (bucket != NO_BUCKET) add(bucket, -1);
}

export function proxy_on_done(context: i32): i32 {
  return 1;
}

export function proxy_on_log(context: i32): void {}

export function proxy_on_delete(context: i32): void {}

/** How many tiny frames begin in this piece. */
function countTiny(framing: Framing, data: usize, end: usize): u32 {
  let at = data;
  while (framing.prefaceBytes < 3 && at < end) {
    if (load<u8>(at) != load<u8>(PREFACE + framing.prefaceBytes)) {
      framing.isOther = true;
      return 0;
    }
    framing.prefaceBytes++;
    at++;
    if (framing.prefaceBytes == 3) framing.skipBytes = PREFACE_BYTES - 3;
  }
  let tiny: u32 = 0;
  while (at < end) {
    if (framing.skipBytes > 0) {
      const passed = min<u32>(framing.skipBytes, <u32>(end - at));
      framing.skipBytes -= passed;
      at += passed;
      continue;
    }
    const byte = load<u8>(at);
    at++;
    if (framing.headBytes < 3) framing.contentBytes = (framing.contentBytes << 8) | byte;
    else if (framing.headBytes == 3) framing.type = byte;
    else if (framing.headBytes == 4) framing.flags = byte;
    framing.headBytes++;
    if (framing.headBytes < FRAME_HEAD_BYTES) continue;
    if (framing.type == DATA && framing.contentBytes < TINY_BYTES && (framing.flags & END_STREAM) == 0) tiny++;
    framing.skipBytes = framing.contentBytes;
    framing.contentBytes = 0;
    framing.headBytes = 0;
  }
  return tiny;
}

/** Counts them for the address. Returns its sum of this second. */
function noteTiny(bucket: i32, tiny: u32): u32 {
  getTime(time);
  const second = load<u64>(time) / 1_000_000_000;
  if (second != tinySecond) {
    tinySecond = second;
    memory.fill(changetype<usize>(tinyFrames), 0, BUCKETS * 4);
  }
  tinyFrames[bucket] += tiny;
  return tinyFrames[bucket];
}

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
