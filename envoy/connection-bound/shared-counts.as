// Counts the open connections and requests of an address. All threads of Envoy count in its shared
// data, which has one value for each bucket, so memory stays bounded however many addresses
// connect.

import { CAS_MISMATCH, getShared, OK, result, setShared } from "./host";

/**
 * A count or a change of it: connections in the lower half, requests in the upper half. Neither
 * half of a count is ever negative.
 */
export type Counts = u64;
export const CONNECTION: Counts = 1;
export const REQUEST: Counts = 1 << 32;

const key = memory.data(4);
const sum = memory.data(8);

/** Adds the change to the bucket's count and returns the new count. */
export function add(bucket: i32, change: Counts): Counts {
  store<i32>(key, bucket);
  let stored = CAS_MISMATCH;
  while (stored == CAS_MISMATCH) {
    let counts: Counts = 0;
    let version: u32 = 0;
    if (getShared(key, 4, result, result + 4, result + 8) == OK) {
      const value = load<usize>(result);
      counts = load<Counts>(value);
      version = load<u32>(result + 8);
      heap.free(value);
    }
    store<Counts>(sum, counts + change);
    stored = setShared(key, 4, sum, 8, version);
  }
  return load<Counts>(sum);
}
