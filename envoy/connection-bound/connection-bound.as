// Limits, for each client address, the open connections, the open HTTP/2 requests, and the tiny
// HTTP/2 DATA frames in a second. It is a network filter of Envoy (Proxy-Wasm ABI 0.2.1), because
// Envoy has none of these limits. It is written in AssemblyScript, a language like TypeScript;
// `node envoy/connection-bound/build.ts` compiles it to connection-bound.wasm.
//
// Open requests: Envoy keeps 23 KB and the headers of a request until the last byte of its response
// is written, which an HTTP/2 client prevents with a window of 0. A request begins with HEADERS of
// a new stream, and ends with END_STREAM to the client or RST_STREAM from either side. HTTP/1.1 has
// one request at a time on each connection, so the limit of connections is enough there.
//
// Tiny frames: each costs Envoy 0.3 us whichever request it belongs to, so 100 connections that
// sent bodies in frames of one byte made all others wait for seconds. This filter takes about 10 ns
// for a frame.
//
// The connection that takes its address above a limit is closed. An IPv6 /48 has ten times the
// limits of an address. The configuration is three decimal numbers: the most connections, the most
// requests (0 for either: no limit), and the seed of the hash of addresses.

import { BUCKETS, clientBucket, findBuckets, networkBucket, NO_BUCKET } from "./client-address";
import {
  closeStream,
  CONTINUE,
  DOWNSTREAM,
  FOR_CLIENT,
  FROM_CLIENT,
  getBuffer,
  getTime,
  OK,
  PLUGIN_CONFIGURATION,
  result,
  STOP_ITERATION,
} from "./host";
import { DATA, END_STREAM, Frames, HEADERS, RST_STREAM } from "./http2-frames";
import { add, CONNECTION, Counts, REQUEST } from "./shared-counts";

const NETWORK_TIMES: u32 = 10;
/**
 * A DATA frame with less content than this is tiny, unless it is the last of its body. Clients that
 * stream a body write kilobytes.
 */
const TINY_BYTES: u32 = 64;
/**
 * The most tiny frames of one address in a second on one thread. They take 3 % of the thread, and a
 * body of 60,000 frames of one byte is still allowed.
 */
const MOST_TINY: u32 = 100_000;

/** `PRI`: the preface of HTTP/2 begins with it, and no method of HTTP/1 does. */
const PREFACE_BEGIN = memory.data<u8>([80, 82, 73]);
const PREFACE_BEGIN_BYTES: u8 = 3;
const PREFACE_BYTES: u32 = 24;

const time = memory.data(8);
/** Tiny frames of the current second (`tinySecond`), by bucket. */
const tinyFrames = new StaticArray<u32>(2 * BUCKETS);
let tinySecond: u64 = 0;

let mostConnections: u32 = 0;
let mostRequests: u32 = 0;
let seed: u32 = 0;

class Http2 {
  client: Frames = new Frames(PREFACE_BYTES);
  server: Frames = new Frames(0);
  newestStream: u32 = 0;
  openStreams: Set<u32> = new Set<u32>();
}

class Connection {
  bucket: i32 = clientBucket;
  network: i32 = networkBucket;
  /** How many requests of this connection are in the shared counts. */
  requests: i32 = 0;
  prefaceBytes: u8 = 0;
  /** Whether it does not speak HTTP/2. Its bytes are then not read. */
  isOther: bool = false;
  isRefused: bool = false;
  http2: Http2 | null = null;
}

const connections = new Map<i32, Connection>();

export function proxy_abi_version_0_2_1(): void {}

/** The host calls this for memory to write a value into. */
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
  const numbers = new StaticArray<u32>(3);
  let index = 0;
  for (let at = text; at < end && index < 3; at++) {
    if (load<u8>(at) == 32) index++;
    else numbers[index] = numbers[index] * 10 + (load<u8>(at) - 48);
  }
  heap.free(text);
  mostConnections = numbers[0];
  mostRequests = numbers[1];
  seed = numbers[2];
  return index == 2 ? 1 : 0;
}

export function proxy_on_context_create(context: i32, parent: i32): void {}

export function proxy_on_new_connection(context: i32): i32 {
  findBuckets(seed);
  const connection = new Connection();
  connections.set(context, connection);
  // A refused connection stays in the counts until it closes, because
  // proxy_on_downstream_connection_close subtracts it.
  return fits(connection, CONNECTION) ? CONTINUE : refuse(connection);
}

export function proxy_on_downstream_data(context: i32, bytes: i32, isLast: i32): i32 {
  if (!connections.has(context)) return CONTINUE;
  const connection = connections.get(context);
  if (connection.isRefused) return STOP_ITERATION;
  if (connection.isOther || bytes == 0) return CONTINUE;
  if (connection.prefaceBytes < PREFACE_BEGIN_BYTES) readPreface(connection, bytes);
  const http2 = connection.http2;
  if (http2 == null) return CONTINUE;
  const frames = http2.client;
  let tiny: u32 = 0;
  let requests: i32 = 0;
  while (frames.next(FROM_CLIENT, bytes)) {
    if (frames.type == DATA && frames.contentBytes < TINY_BYTES && (frames.flags & END_STREAM) == 0) tiny++;
    else if (frames.type == HEADERS && frames.stream > http2.newestStream) {
      // HEADERS of an older stream would be trailers, not a new request.
      http2.newestStream = frames.stream;
      if (mostRequests == 0) continue;
      http2.openStreams.add(frames.stream);
      requests++;
    } else if (frames.type == RST_STREAM && http2.openStreams.delete(frames.stream)) requests--;
  }
  if (tiny > 0 && !fitTiny(connection, tiny)) return refuse(connection);
  if (requests == 0) return CONTINUE;
  const change = <Counts>(<i64>requests * <i64>REQUEST);
  if (!fits(connection, change)) {
    // Envoy's HTTP filter never gets these bytes, so the requests in them do not begin.
    fits(connection, 0 - change);
    return refuse(connection);
  }
  connection.requests += requests;
  return CONTINUE;
}

export function proxy_on_upstream_data(context: i32, bytes: i32, isLast: i32): i32 {
  if (mostRequests == 0 || !connections.has(context)) return CONTINUE;
  const connection = connections.get(context);
  const http2 = connection.http2;
  if (http2 == null || connection.isRefused) return CONTINUE;
  const frames = http2.server;
  let ended: i32 = 0;
  while (frames.next(FOR_CLIENT, bytes)) {
    const isEnd = frames.type == RST_STREAM || ((frames.type == DATA || frames.type == HEADERS) && (frames.flags & END_STREAM) != 0);
    if (isEnd && http2.openStreams.delete(frames.stream)) ended++;
  }
  if (ended == 0) return CONTINUE;
  connection.requests -= ended;
  fits(connection, 0 - <Counts>ended * REQUEST);
  return CONTINUE;
}

export function proxy_on_downstream_connection_close(context: i32, by: i32): void {
  if (!connections.has(context)) return;
  const connection = connections.get(context);
  connections.delete(context);
  fits(connection, 0 - CONNECTION - <Counts>connection.requests * REQUEST);
}

export function proxy_on_done(context: i32): i32 {
  return 1;
}

export function proxy_on_log(context: i32): void {}

export function proxy_on_delete(context: i32): void {}

function refuse(connection: Connection): i32 {
  connection.isRefused = true;
  closeStream(DOWNSTREAM);
  return STOP_ITERATION;
}

/** Finds out from the first bytes of a connection whether it speaks HTTP/2. */
function readPreface(connection: Connection, bytes: i32): void {
  const missing = min<i32>(PREFACE_BEGIN_BYTES - connection.prefaceBytes, bytes);
  if (getBuffer(FROM_CLIENT, 0, missing, result, result + 4) != OK) return;
  const data = load<usize>(result);
  const end = data + load<usize>(result + 4);
  for (let at = data; at < end; at++, connection.prefaceBytes++) {
    if (load<u8>(at) != load<u8>(PREFACE_BEGIN + connection.prefaceBytes)) connection.isOther = true;
  }
  heap.free(data);
  if (connection.isOther) connection.http2 = null;
  else if (connection.http2 == null) connection.http2 = new Http2();
}

/**
 * Adds the change to the counts and returns whether the address and its network are within their
 * limits. It is added in any case.
 */
function fits(connection: Connection, change: Counts): bool {
  const ofAddress = connection.bucket == NO_BUCKET || isWithin(add(connection.bucket, change), change, 1);
  const ofNetwork = connection.network == NO_BUCKET || isWithin(add(connection.network, change), change, NETWORK_TIMES);
  return ofAddress && ofNetwork;
}

/**
 * Whether the counts are within the limits. Connections or requests that the change does not
 * increase are not checked.
 */
function isWithin(counts: Counts, change: Counts, times: u32): bool {
  if (<i32>change > 0 && mostConnections > 0 && <u32>counts > mostConnections * times) return false;
  return <i64>change <= <i64>CONNECTION || mostRequests == 0 || <u32>(counts >> 32) <= mostRequests * times;
}

/**
 * Counts the tiny frames of this second on this thread and returns whether the address and its
 * network are within their limits.
 */
function fitTiny(connection: Connection, tiny: u32): bool {
  getTime(time);
  const second = load<u64>(time) / 1_000_000_000;
  if (second != tinySecond) {
    tinySecond = second;
    memory.fill(changetype<usize>(tinyFrames), 0, 2 * BUCKETS * 4);
  }
  const ofAddress = connection.bucket == NO_BUCKET || (tinyFrames[connection.bucket] += tiny) <= MOST_TINY;
  const ofNetwork = connection.network == NO_BUCKET || (tinyFrames[connection.network] += tiny) <= MOST_TINY * NETWORK_TIMES;
  return ofAddress && ofNetwork;
}
