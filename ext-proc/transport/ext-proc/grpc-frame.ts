import { type BorrowedBytes, lend } from '#packages/http2-server/borrowed-bytes.ts';

/** gRPC's length-prefixed messages: one flag byte, four bytes of length, the message. */

const PREFIX_BYTES = 5;

export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(PREFIX_BYTES + message.byteLength);
  framed[0] = 0;
  framed.writeUInt32BE(message.byteLength, 1);
  framed.set(message, PREFIX_BYTES);
  return framed;
}

export type FrameProblem = 'compressed' | 'too_long';

export interface MessageListener {
  /** Called with a message as a part of `bytes`, which are valid until it returns. */
  message(bytes: BorrowedBytes, start: number, end: number): void;
}

/**
 * Cuts a byte stream into messages. A message that arrives in pieces is copied once, into memory
 * that is reused, because each 64 MB outside the heap cost a full garbage collection. Other
 * messages are not copied.
 */
export class GrpcMessageReader {
  readonly #maxMessageBytes: number;
  readonly #listener: MessageListener;
  /** An unfinished prefix or message, and how many of its bytes have arrived. */
  #unfinished: Buffer | undefined;
  #heldBytes = 0;
  /** Length of the message that is being collected. Negative while its prefix is incomplete. */
  #messageBytes = -1;

  constructor(maxMessageBytes: number, listener: MessageListener) {
    this.#maxMessageBytes = maxMessageBytes;
    this.#listener = listener;
  }

  /** Passes on each complete message. After a problem the reader must not be used again. */
  push(bytes: BorrowedBytes, start: number, end: number): FrameProblem | undefined {
    let at = start;
    for (;;) {
      const wanted = this.#messageBytes < 0 ? PREFIX_BYTES : this.#messageBytes;
      const taken = Math.min(wanted - this.#heldBytes, end - at);
      const isWhole = taken === wanted;
      const collected = isWhole ? undefined : this.#collect(bytes, at, at + taken, wanted);
      const wholeStart = isWhole ? at : 0;
      at += taken;
      if (!isWhole && collected === undefined) return undefined;
      const whole = collected === undefined ? bytes : lend(collected);
      if (this.#messageBytes >= 0) {
        this.#messageBytes = -1;
        this.#listener.message(whole, wholeStart, wholeStart + wanted);
        if (collected !== undefined) giveBackMemory(collected);
        continue;
      }
      if (whole[wholeStart] !== 0) return 'compressed';
      this.#messageBytes = whole.readUInt32BE(wholeStart + 1);
      if (this.#messageBytes > this.#maxMessageBytes) return 'too_long';
    }
  }

  /** Returns the prefix or message once its last byte has arrived. */
  #collect(bytes: BorrowedBytes, start: number, end: number, wanted: number): Buffer | undefined {
    if (start === end) return undefined;
    const unfinished = this.#unfinished ?? takeMemory(wanted);
    this.#heldBytes += bytes.copy(unfinished, this.#heldBytes, start, end);
    const isWhole = this.#heldBytes === wanted;
    this.#unfinished = isWhole ? undefined : unfinished;
    if (isWhole) this.#heldBytes = 0;
    return isWhole ? unfinished : undefined;
  }
}

/** Above the longest piece of a body: Envoy reads 128 KiB (`per_connection_buffer_limit_bytes`). */
const SPARE_BYTES = 160 * 1024;
/** Most spare buffers: as many as are in use under load. Others are garbage-collected. */
const MAX_SPARE = 16;
/** Up to this size Node uses a pool of its own. */
const SMALL_BYTES = 4096;

const spare: Buffer[] = [];

/** Returns at least this many bytes of uninitialized memory. */
function takeMemory(bytes: number): Buffer {
  if (bytes <= SMALL_BYTES || bytes > SPARE_BYTES) return Buffer.allocUnsafe(bytes);
  return spare.pop() ?? Buffer.allocUnsafeSlow(SPARE_BYTES);
}

function giveBackMemory(memory: Buffer): void {
  if (memory.length === SPARE_BYTES && spare.length < MAX_SPARE) spare.push(memory);
}
