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

/**
 * Cuts a byte stream into messages. Every byte is copied at most once, however the stream was cut: a message of a megabyte that
 * arrives in pieces of 16 KiB is joined when its last piece is here, not at each.
 */
export class FrameReader {
  readonly #maxMessageBytes: number;
  /** Pieces of the unfinished prefix or message. */
  #parts: Buffer[] = [];
  #held = 0;
  /** Of the message being collected; negative while the prefix is incomplete. */
  #messageBytes = -1;

  constructor(maxMessageBytes: number) {
    this.#maxMessageBytes = maxMessageBytes;
  }

  /** Hands each complete message to `onMessage`. The reader is done for once it has reported a problem. */
  push(chunk: Buffer, onMessage: (message: Buffer) => void): FrameProblem | undefined {
    let rest = chunk;
    for (;;) {
      const wanted = this.#messageBytes < 0 ? PREFIX_BYTES : this.#messageBytes;
      if (this.#held + rest.length < wanted) {
        if (rest.length > 0) {
          this.#parts.push(rest);
          this.#held += rest.length;
        }
        return undefined;
      }
      const taken = wanted - this.#held;
      const whole = this.#join(rest.subarray(0, taken));
      rest = rest.subarray(taken);
      if (this.#messageBytes >= 0) {
        this.#messageBytes = -1;
        onMessage(whole);
        continue;
      }
      if (whole[0] !== 0) return 'compressed';
      this.#messageBytes = whole.readUInt32BE(1);
      if (this.#messageBytes > this.#maxMessageBytes) return 'too_long';
    }
  }

  #join(last: Buffer): Buffer {
    if (this.#held === 0) return last;
    this.#parts.push(last);
    const whole = Buffer.concat(this.#parts, this.#held + last.length);
    this.#parts = [];
    this.#held = 0;
    return whole;
  }
}
