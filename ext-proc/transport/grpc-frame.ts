import { giveBackMemory, takeMemory } from '../../packages/http2-server/spare-memory.ts';

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
  /** A message where it lies in `bytes`, which are somebody else's afterwards. */
  message(bytes: Buffer, start: number, end: number): void;
}

/**
 * Cuts a byte stream into messages. Every byte is copied at most once, however the stream was cut, and only where a message arrives in
 * pieces; into memory that is used again, since each 64 MB outside the heap cost a full garbage collection.
 */
export class FrameReader {
  readonly #maxMessageBytes: number;
  readonly #listener: MessageListener;
  /** An unfinished prefix or message, of which this much is here. */
  #unfinished: Buffer | undefined;
  #heldBytes = 0;
  /** Of the message being collected; negative while the prefix is incomplete. */
  #messageBytes = -1;

  constructor(maxMessageBytes: number, listener: MessageListener) {
    this.#maxMessageBytes = maxMessageBytes;
    this.#listener = listener;
  }

  /** Hands on each complete message. The reader is done for once it has reported a problem. */
  push(bytes: Buffer, start: number, end: number): FrameProblem | undefined {
    let at = start;
    for (;;) {
      const wanted = this.#messageBytes < 0 ? PREFIX_BYTES : this.#messageBytes;
      const taken = Math.min(wanted - this.#heldBytes, end - at);
      const isWhole = taken === wanted;
      const whole = isWhole ? bytes : this.#collect(bytes, at, at + taken, wanted);
      const wholeStart = isWhole ? at : 0;
      at += taken;
      if (whole === undefined) return undefined;
      if (this.#messageBytes >= 0) {
        this.#messageBytes = -1;
        this.#listener.message(whole, wholeStart, wholeStart + wanted);
        if (!isWhole) giveBackMemory(whole);
        continue;
      }
      if (whole[wholeStart] !== 0) return 'compressed';
      this.#messageBytes = whole.readUInt32BE(wholeStart + 1);
      if (this.#messageBytes > this.#maxMessageBytes) return 'too_long';
    }
  }

  /** The whole, once its last byte is here. */
  #collect(bytes: Buffer, start: number, end: number, wanted: number): Buffer | undefined {
    if (start === end) return undefined;
    const unfinished = this.#unfinished ?? takeMemory(wanted);
    this.#heldBytes += bytes.copy(unfinished, this.#heldBytes, start, end);
    const isWhole = this.#heldBytes === wanted;
    this.#unfinished = isWhole ? undefined : unfinished;
    if (isWhole) this.#heldBytes = 0;
    return isWhole ? unfinished : undefined;
  }
}
