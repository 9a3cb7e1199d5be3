import type { Envelope } from '#core/errors/refusal.ts';
import { isObject, type JsonObject, parseObject } from '#core/json-object.ts';
import { thinkingBlock } from '../../dialects/anthropic/thinking-details.ts';
import { withoutBlankLine } from '../../dialects/chat-message.ts';
import type { Completion } from '../../dialects/completion.ts';
import type { ChargedUsage, DoorStream, ResponseNames } from '../door.ts';
import { sentEvent } from '../events.ts';
import { addDetail, carry, continuesReasoning } from '../responses/carried-reasoning.ts';
import { type ChatCall, spokenText } from '../responses/output-items.ts';
import { type AskedThinking, readAsked } from './asked.ts';
import { calledFunction, endOf, failureEvents, messageHead, toolUse } from './message-object.ts';
import { messageUsage, NO_USAGE } from './usage.ts';

type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'thought'; readonly text: string; readonly details: readonly JsonObject[] }
  | { readonly kind: 'call'; readonly call: unknown; readonly begun?: ChatCall; readonly input: string };

type OpenBlock = TextBlock | ThinkingBlock | CallBlock;

interface TextBlock {
  readonly kind: 'text';
}

interface ThinkingBlock {
  readonly kind: 'thought';
  text: string;
  readonly details: JsonObject[];
  detailCharacters: number;
}

interface CallBlock {
  readonly kind: 'call';
  readonly call: unknown;
  input: string;
  /** How often the input was checked for completeness. */
  checks: number;
}

/**
 * Writes a chat stream as events of Messages. Blocks must not overlap, so pieces of other blocks
 * wait while the input of a call is incomplete.
 */
export class MessageStream implements DoorStream {
  readonly #names: ResponseNames;
  readonly #asked: AskedThinking;
  #open: OpenBlock | undefined;
  #index = -1;
  /** Waiting pieces by block. The key is the index of a call, or the kind of other blocks. */
  readonly #waiting = new Map<unknown, Piece[]>();
  #waitingCharacters = 0;
  #hasBegun = false;
  #hasText = false;
  #hasThought = false;
  #hasCalls = false;
  #refusal = '';
  #finishReason: unknown;

  constructor(names: ResponseNames) {
    this.#names = names;
    this.#asked = readAsked(names.asked);
  }

  get keptCharacters(): number {
    return this.#waitingCharacters + (this.#open === undefined ? 0 : keptOf(this.#open));
  }

  chunk({ choices: [choice] }: Completion): string {
    const begun = this.#begin();
    if (!isObject(choice)) return begun;
    if (choice.finish_reason !== null && choice.finish_reason !== undefined) this.#finishReason = choice.finish_reason;
    return isObject(choice.delta) ? begun + this.#take(this.#piecesOf(choice.delta)) : begun;
  }

  content(text: string): string {
    return text === '' ? '' : this.#take([{ kind: 'text', text }]);
  }

  ended(charged: ChargedUsage): string {
    // No call gets more input.
    const events = this.#begin() + this.#writeWaiting(true);
    const delta = endOf(this.#finishReason, { refusal: this.#refusal, hasCalls: this.#hasCalls });
    const ended = { delta: { ...delta, container: null }, usage: messageUsage(charged) };
    return events + this.#close() + sentEvent('message_delta', ended) + sentEvent('message_stop');
  }

  failed(error: Envelope['error'], charged: ChargedUsage | undefined): string {
    return failureEvents(error, this.#names, this.#hasBegun ? charged : undefined);
  }

  #begin(): string {
    if (this.#hasBegun) return '';
    this.#hasBegun = true;
    return sentEvent('message_start', { message: { ...messageHead(this.#names), usage: NO_USAGE } });
  }

  #piecesOf(delta: JsonObject): Piece[] {
    const { refusal, reasoning_content, reasoning, reasoning_details: given, tool_calls: calls } = delta;
    const pieces: Piece[] = [];
    const thought = reasoning_content ?? reasoning;
    const text = typeof thought === 'string' ? thought : '';
    const details = Array.isArray(given) ? given.filter(isObject) : [];
    if (this.#asked.thinking !== 'none' && (text !== '' || details.length > 0))
      pieces.push({ kind: 'thought', text, details });
    const content = spokenText(delta.content);
    if (content !== '') pieces.push({ kind: 'text', text: content });
    if (typeof refusal === 'string' && refusal !== '') {
      this.#refusal += refusal;
      pieces.push({ kind: 'text', text: refusal });
    }
    for (const call of Array.isArray(calls) ? calls.filter(isObject) : []) {
      const begun = calledFunction(call);
      const input = isObject(call.function) ? call.function.arguments : undefined;
      const more = begun === undefined ? {} : { begun };
      pieces.push({ kind: 'call', call: call.index ?? 0, ...more, input: typeof input === 'string' ? input : '' });
    }
    return pieces;
  }

  #take(pieces: readonly Piece[]): string {
    let events = '';
    for (const piece of pieces) {
      const goesOn = this.#open !== undefined && continues(this.#open, piece);
      if (goesOn || this.#mayClose()) events += this.#write(piece);
      else this.#wait(piece);
    }
    return this.#waiting.size === 0 ? events : events + this.#writeWaiting();
  }

  /** Writes waiting pieces, block after block, as long as the previous block is complete. */
  #writeWaiting(isEnd = false): string {
    let events = '';
    for (const [key, pieces] of this.#waiting) {
      if (!isEnd && !this.#mayClose()) break;
      this.#waiting.delete(key);
      for (const piece of pieces) {
        this.#waitingCharacters -= charactersOf(piece);
        events += this.#write(piece);
      }
    }
    return events;
  }

  #mayClose(): boolean {
    if (this.#open?.kind !== 'call') return true;
    return this.#open.checks++ < MOST_CHECKS && isComplete(this.#open);
  }

  #wait(piece: Piece): void {
    const key = piece.kind === 'call' ? piece.call : piece.kind;
    const pieces = this.#waiting.get(key);
    if (pieces === undefined) this.#waiting.set(key, [piece]);
    else pieces.push(piece);
    this.#waitingCharacters += charactersOf(piece);
  }

  #write(piece: Piece): string {
    switch (piece.kind) {
      case 'text':
        return this.#text(piece.text);
      case 'thought':
        return this.#thought(piece.text, piece.details);
      case 'call':
        return this.#call(piece);
    }
  }

  #text(given: string): string {
    if (this.#open?.kind === 'text') return this.#delta({ type: 'text_delta', text: given });
    const events = this.#close() + this.#begun({ kind: 'text' }, { type: 'text', text: '' });
    const text = this.#hasText ? withoutBlankLine(given) : given;
    this.#hasText = true;
    return text === '' ? events : events + this.#delta({ type: 'text_delta', text });
  }

  #thought(given: string, details: readonly JsonObject[]): string {
    let text = given;
    let events = '';
    if (this.#open?.kind === 'thought' && !continuesReasoning(this.#open, details)) events += this.#close();
    const [first] = details;
    const redacted = first && thinkingBlock(first);
    if (redacted?.type === 'redacted_thinking') return events + this.#close() + this.#whole(redacted);
    if (this.#open?.kind !== 'thought') {
      if (this.#hasThought) text = withoutBlankLine(given);
      this.#hasThought = true;
      const block: ThinkingBlock = { kind: 'thought', text: '', details: [], detailCharacters: 0 };
      events += this.#close() + this.#begun(block, { type: 'thinking', thinking: '', signature: '' });
    }
    const block = this.#open;
    if (block?.kind !== 'thought') return events;
    block.text += text;
    for (const entry of details) addDetail(block.details, entry);
    if (details.length > 0) block.detailCharacters += JSON.stringify(details).length;
    const isShown = text !== '' && this.#asked.thinking === 'shown';
    return isShown ? events + this.#delta({ type: 'thinking_delta', thinking: text }) : events;
  }

  #call({ call, begun, input }: Piece & { kind: 'call' }): string {
    let events = '';
    if (begun !== undefined) {
      this.#hasCalls = true;
      events = this.#close();
      events += this.#begun({ kind: 'call', call, input: '', checks: 0 }, toolUse(begun, this.#names, this.#index + 1));
    }
    // Other input belongs to a call that was closed or never began.
    if (input === '' || this.#open?.kind !== 'call' || this.#open.call !== call) return events;
    this.#open.input += input;
    return events + this.#delta({ type: 'input_json_delta', partial_json: input });
  }

  #begun(block: OpenBlock, content: JsonObject): string {
    this.#open = block;
    this.#index++;
    return sentEvent('content_block_start', { index: this.#index, content_block: content });
  }

  #delta(delta: JsonObject): string {
    return sentEvent('content_block_delta', { index: this.#index, delta });
  }

  #whole(content: JsonObject): string {
    const begun = this.#begun({ kind: 'text' }, content);
    return begun + this.#close();
  }

  #close(): string {
    const block = this.#open;
    if (block === undefined) return '';
    this.#open = undefined;
    const signature = block.kind === 'thought' ? signedBy(block) : undefined;
    const signed = signature === undefined ? '' : this.#delta({ type: 'signature_delta', signature });
    return signed + sentEvent('content_block_stop', { index: this.#index });
  }
}

/** The signature of a target with the same API, or else all that the client must send back. */
function signedBy(block: ThinkingBlock): unknown {
  const { details } = block;
  const [first] = details;
  const own = first && details.length === 1 ? thinkingBlock(first) : undefined;
  return own?.signature ?? carry(block);
}

function continues(block: OpenBlock, piece: Piece): boolean {
  return block.kind === 'call' && piece.kind === 'call' && block.call === piece.call;
}

/** Most checks of the input of one call. Each check parses all of it. */
const MOST_CHECKS = 64;

function keptOf(block: OpenBlock): number {
  if (block.kind === 'text') return 0;
  return block.kind === 'call' ? block.input.length : block.text.length + block.detailCharacters;
}

/** Memory of a piece beside its text, in characters. */
const OVERHEAD = 128;

function charactersOf(piece: Piece): number {
  if (piece.kind === 'call') return OVERHEAD + piece.input.length;
  return OVERHEAD + piece.text.length + (piece.kind === 'thought' ? JSON.stringify(piece.details).length : 0);
}

/** True if the input is whole JSON. An empty one is not: the provider may continue the call. */
function isComplete(block: CallBlock): boolean {
  return block.input.trimEnd().endsWith('}') && parseObject(block.input) !== undefined;
}
