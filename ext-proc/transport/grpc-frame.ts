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
 * Cuts a byte stream into messages. Every byte is copied at most once, however the stream was cut: a message of a megabyte that
 * arrives in pieces of 16 KiB is joined when its last piece is here, not at each.
 */
export class FrameReader {
  readonly #maxMessageBytes: number;
  readonly #listener: MessageListener;
  /** Pieces of the unfinished prefix or message. */
  #parts: Buffer[] = NOTHING;
  #held = 0;
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
      const taken = wanted - this.#held;
      if (end - at < taken) {
        if (end > at) this.#hold(bytes.subarray(at, end));
        return undefined;
      }
      const whole = this.#held === 0 ? bytes : this.#join(bytes.subarray(at, at + taken));
      const wholeStart = whole === bytes ? at : 0;
      at += taken;
      if (this.#messageBytes >= 0) {
        this.#messageBytes = -1;
        this.#listener.message(whole, wholeStart, wholeStart + wanted);
        continue;
      }
      if (whole[wholeStart] !== 0) return 'compressed';
      this.#messageBytes = whole.readUInt32BE(wholeStart + 1);
      if (this.#messageBytes > this.#maxMessageBytes) return 'too_long';
    }
  }

  #hold(part: Buffer): void {
    if (this.#parts === NOTHING) this.#parts = [part];
    else this.#parts.push(part);
    this.#held += part.length;
  }

  #join(last: Buffer): Buffer {
    const whole = Buffer.concat([...this.#parts, last], this.#held + last.length);
    this.#parts = NOTHING;
    this.#held = 0;
    return whole;
  }
}

const NOTHING: Buffer[] = [];
