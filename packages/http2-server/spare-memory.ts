/** Above the longest message that Envoy makes of a piece of a body: its ingress reads 128 KiB at most (`per_connection_buffer_limit_bytes`). */
const SPARE_BYTES = 160 * 1024;
/** As many as are put together at a time under load; those of a burst go. */
const MOST_SPARE = 16;
/** Below it Node has a pool of its own. */
const SMALL_BYTES = 4096;

const spare: Buffer[] = [];

/** At least so many bytes of memory, with whatever stood there before. It need not be given back. */
export function takeMemory(bytes: number): Buffer {
  if (bytes <= SMALL_BYTES || bytes > SPARE_BYTES) return Buffer.allocUnsafe(bytes);
  return spare.pop() ?? Buffer.allocUnsafeSlow(SPARE_BYTES);
}

/** Nobody reads it any more. */
export function giveBackMemory(memory: Buffer): void {
  if (memory.length === SPARE_BYTES && spare.length < MOST_SPARE) spare.push(memory);
}
