/** Encodes gRPC frames with protobuf by hand: generated code takes ten times as long. */

/** gRPC's prefix: one flag byte, four bytes of length. */
export const PREFIX_BYTES = 5;
/** Bytes of a tag of one byte with a number below 128. */
export const SMALL_NUMBER_BYTES = 2;

/** Bytes of a field with its tag (always one byte) and its length. */
export function fieldBytes(payloadBytes: number): number {
  return 1 + varintBytes(payloadBytes) + payloadBytes;
}

export function headerBytes(headers: readonly string[], at: number): number {
  return fieldBytes(headers[at]?.length ?? 0) + fieldBytes(headers[at + 1]?.length ?? 0);
}

function varintBytes(value: number): number {
  if (value < 2 ** 7) return 1;
  if (value < 2 ** 14) return 2;
  return value < 2 ** 21 ? 3 : 4;
}

/** Writes fields into a buffer of known length. Short texts are cheaper character by character. */
export class MessageWriter {
  readonly bytes: Buffer;
  #at = 0;

  constructor(length: number) {
    this.bytes = Buffer.allocUnsafe(length);
  }

  prefix(messageBytes: number): void {
    this.bytes[this.#at] = 0;
    this.#at = this.bytes.writeUInt32BE(messageBytes, this.#at + 1);
  }

  open(tag: number, length: number): void {
    this.bytes[this.#at++] = tag;
    let rest = length;
    for (; rest >= 0x80; rest >>>= 7) this.bytes[this.#at++] = (rest & 0x7f) | 0x80;
    this.bytes[this.#at++] = rest;
  }

  /** Writes a number below 128. `true` is 1. */
  smallNumber(tag: number, value: number): void {
    this.bytes[this.#at++] = tag;
    this.bytes[this.#at++] = value;
  }

  /** Writes a text in Latin-1. */
  text(tag: number, text: string): void {
    this.open(tag, text.length);
    let at = this.#at;
    for (let index = 0; index < text.length; index++) this.bytes[at++] = text.charCodeAt(index);
    this.#at = at;
  }

  copy(bytes: Buffer): void {
    this.bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }
}
