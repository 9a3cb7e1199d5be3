import { type JsonObject, parseObject } from '#core/json-object.ts';
import { GrowingBytes } from '../../fairness/growing-bytes.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Members of a response that decide its charge, in every API. */
const DECIDES = /^\s*"(?:id|service_tier|usage)"/;
/** A longer member is none of these. */
const MOST_MEMBER_BYTES = 64 * 1024;

/**
 * Reads a JSON response of any length, in pieces, for the members that decide its charge. Keeps no
 * more than these: they may be anywhere, and what a model wrote may contain their names.
 */
export class SkimmedResponse {
  /** Objects and arrays so far. */
  composites = 0;
  #depth = 0;
  #isText = false;
  /** 1: the next piece begins with an escaped character. */
  #skipped = 0;
  /** Begin of a top-level member whose rest is in the next piece. */
  readonly #begun = new GrowingBytes();
  readonly #members: JsonObject = {};

  push(bytes: Buffer): void {
    let [depth, isText, composites] = [this.#depth, this.#isText, this.composites];
    let from = 0;
    let at = this.#skipped;
    for (; at < bytes.length; at++) {
      const byte = bytes[at];
      if (isText) {
        if (byte === BACKSLASH) at++;
        else if (byte === QUOTE) isText = false;
      } else if (byte === QUOTE) isText = true;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        composites++;
        if (depth++ === 0) from = at + 1;
      } else if (depth === 1 && (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET)) {
        this.#end(bytes, from, at);
        from = at + 1;
        if (byte !== COMMA) depth = 0;
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
    }
    if (depth > 0) this.#keep(bytes, from, bytes.length);
    this.#depth = depth;
    this.#isText = isText;
    this.#skipped = at - bytes.length;
    this.composites = composites;
  }

  /** The members that decide the charge. */
  get members(): JsonObject {
    return this.#members;
  }

  #keep(bytes: Buffer, start: number, end: number): void {
    const most = MOST_MEMBER_BYTES + 1 - this.#begun.length;
    this.#begun.append(bytes, start, end - start > most ? start + most : end);
  }

  #end(bytes: Buffer, start: number, end: number): void {
    this.#keep(bytes, start, end);
    const member = this.#begun.length > MOST_MEMBER_BYTES ? '' : this.#begun.view().toString();
    this.#begun.clear();
    if (DECIDES.test(member)) Object.assign(this.#members, parseObject(`{${member}}`));
  }
}
