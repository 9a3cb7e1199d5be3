// What an address has open. All threads of Envoy count in its shared data, in as many values as there are buckets: memory stays bounded
// whatever addresses come.

import { CAS_MISMATCH, getShared, OK, result, setShared } from "./host";

/** A count, or a change of one: connections in the lower half, requests in the upper one. No half of a count is ever negative. */
export type Counts = u64;
export const CONNECTION: Counts = 1;
export const REQUEST: Counts = 1 << 32;

const key = memory.data(4);
const sum = memory.data(8);

/** The new count. */
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
