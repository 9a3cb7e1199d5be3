import { isObject, type JsonObject, parseObject } from '#core/json-object.ts';
import { type ChatCall, chatCall, spokenText, textLogprobs } from './output-items.ts';

/** What one delta of a chat stream adds to a part of the output. */
export type Piece = TextPiece | ThoughtPiece | CallPiece;

export interface TextPiece {
  readonly kind: 'text';
  readonly type: 'output_text' | 'refusal';
  readonly text: string;
  readonly logprobs: readonly unknown[];
  /** Begins another message, even without text. */
  readonly phase?: string;
}

export interface ThoughtPiece {
  readonly kind: 'thought';
  readonly text: string;
  readonly details: readonly JsonObject[];
}

export interface CallPiece {
  readonly kind: 'call';
  readonly index: unknown;
  /** Absent: the piece continues a call. */
  readonly begun?: ChatCall;
  readonly input: string;
}

/** The pieces of a delta, in the order in which models write. */
export function piecesOf(delta: JsonObject, logprobs: unknown): Piece[] {
  const { refusal, reasoning_content, reasoning, reasoning_details: given, tool_calls: calls, phase } = delta;
  const pieces: Piece[] = [];
  const thought = reasoning_content ?? reasoning;
  const text = typeof thought === 'string' ? thought : '';
  const details = Array.isArray(given) ? given.filter(isObject) : [];
  if (text !== '' || details.length > 0) pieces.push({ kind: 'thought', text, details });
  const content = spokenText(delta.content);
  const begins = typeof phase === 'string' ? { phase } : {};
  if (content !== '' || typeof phase === 'string')
    pieces.push({ kind: 'text', type: 'output_text', text: content, logprobs: textLogprobs(logprobs), ...begins });
  if (typeof refusal === 'string' && refusal !== '')
    pieces.push({ kind: 'text', type: 'refusal', text: refusal, logprobs: [] });
  if (Array.isArray(calls)) pieces.push(...calls.filter(isObject).map(callPiece));
  return pieces;
}

function callPiece(call: JsonObject): CallPiece {
  const { index, function: called, custom } = call;
  const begun = chatCall(call);
  const input = isObject(custom) ? custom.input : isObject(called) ? called.arguments : undefined;
  const more = begun === undefined ? {} : { begun };
  return { kind: 'call', index, ...more, input: typeof input === 'string' ? input : '' };
}

interface OpenCall {
  readonly index: unknown;
  readonly type: ChatCall['type'];
  input: string;
  /** How often the input was checked for completeness. */
  checks: number;
}

/** Most checks of the input of one call. Each check parses all of it. */
const MOST_CHECKS = 64;

/**
 * Passes on the output of a chat stream one part after the other: parts of both APIs of doors must
 * not overlap, but providers may alternate between the arguments of several calls. Pieces of other
 * parts wait while the input of a call is incomplete.
 */
export class OutputOrder {
  readonly #write: (piece: Piece) => string;
  /** The call to which the last piece belonged. */
  #open: OpenCall | undefined;
  /** Waiting pieces by part. The key is the index of a call, or the kind of other parts. */
  readonly #waiting = new Map<unknown, Piece[]>();
  #waitingCharacters = 0;

  /** `write`: returns the events for a piece. A piece of a part that is not open begins it. */
  constructor(write: (piece: Piece) => string) {
    this.#write = write;
  }

  get keptCharacters(): number {
    return this.#waitingCharacters + (this.#open?.input.length ?? 0);
  }

  take(pieces: readonly Piece[]): string {
    let events = '';
    for (const piece of pieces) {
      const goesOn = piece.kind === 'call' && piece.index === this.#open?.index;
      if (goesOn || (this.#waiting.size === 0 && this.#mayClose())) events += this.#pass(piece);
      else this.#wait(piece);
    }
    return this.#waiting.size === 0 ? events : events + this.#passWaiting(false);
  }

  /** Passes on what still waits, because no call gets more input. */
  end(): string {
    return this.#passWaiting(true);
  }

  /** Part after part, as long as the previous one is complete. */
  #passWaiting(isEnd: boolean): string {
    let events = '';
    for (const [key, pieces] of this.#waiting) {
      if (!isEnd && !this.#mayClose()) break;
      this.#waiting.delete(key);
      for (const piece of pieces) {
        this.#waitingCharacters -= charactersOf(piece);
        events += this.#pass(piece);
      }
    }
    return events;
  }

  #mayClose(): boolean {
    return this.#open === undefined || (this.#open.checks++ < MOST_CHECKS && isComplete(this.#open));
  }

  #wait(piece: Piece): void {
    const key = piece.kind === 'call' ? piece.index : piece.kind;
    const pieces = this.#waiting.get(key);
    if (pieces === undefined) this.#waiting.set(key, [piece]);
    else pieces.push(piece);
    this.#waitingCharacters += charactersOf(piece);
  }

  #pass(piece: Piece): string {
    if (piece.kind !== 'call') this.#open = undefined;
    else if (piece.begun !== undefined)
      this.#open = { index: piece.index, type: piece.begun.type, input: piece.input, checks: 0 };
    // Other input belongs to a call that was closed or never began.
    else if (this.#open === undefined || piece.index !== this.#open.index) return '';
    else this.#open.input += piece.input;
    return this.#write(piece);
  }
}

/** Memory of a piece beside its text, in characters. */
const OVERHEAD = 128;

function charactersOf(piece: Piece): number {
  switch (piece.kind) {
    case 'text':
      return OVERHEAD + piece.text.length + JSON.stringify(piece.logprobs).length;
    case 'thought':
      return OVERHEAD + piece.text.length + JSON.stringify(piece.details).length;
    case 'call':
      return OVERHEAD + piece.input.length;
  }
}

/**
 * True if the input is whole JSON. An empty one is not: the provider may continue the call. Nor is
 * that of a custom tool, which is any text.
 */
function isComplete({ type, input }: OpenCall): boolean {
  return type === 'function_call' && input.trimEnd().endsWith('}') && parseObject(input) !== undefined;
}
