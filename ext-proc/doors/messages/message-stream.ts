import type { Envelope } from '#core/errors/refusal.ts';
import { isObject, type JsonObject } from '#core/json-object.ts';
import { thinkingBlock } from '../../dialects/anthropic/thinking-details.ts';
import { withoutBlankLine } from '../../dialects/chat-message.ts';
import type { Completion } from '../../dialects/completion.ts';
import type { ChargedUsage, DoorStream, ResponseNames } from '../door.ts';
import { sentEvent } from '../events.ts';
import { addDetail, carry, continuesReasoning } from '../responses/carried-reasoning.ts';
import { type CallPiece, OutputOrder, type Piece, piecesOf } from '../responses/output-order.ts';
import { endOf, failureEvents, messageHead, toolUse } from './message-object.ts';
import { messageUsage, NO_USAGE } from './usage.ts';

type OpenBlock = { readonly kind: 'text' | 'call' } | ThinkingBlock;

interface ThinkingBlock {
  readonly kind: 'thought';
  text: string;
  readonly details: JsonObject[];
  detailCharacters: number;
}

/** Writes a chat stream as events of Messages. */
export class MessageStream implements DoorStream {
  readonly #names: ResponseNames;
  #open: OpenBlock | undefined;
  #index = -1;
  readonly #order = new OutputOrder((piece) => this.#write(piece));
  #hasBegun = false;
  #hasText = false;
  #hasThought = false;
  #hasCalls = false;
  #refusal = '';
  #finishReason: unknown;

  constructor(names: ResponseNames) {
    this.#names = names;
  }

  get keptCharacters(): number {
    const thought = this.#open?.kind === 'thought' ? this.#open.text.length + this.#open.detailCharacters : 0;
    return this.#order.keptCharacters + thought;
  }

  chunk({ choices: [choice] }: Completion): string {
    const begun = this.#begin();
    if (!isObject(choice)) return begun;
    if (choice.finish_reason !== null && choice.finish_reason !== undefined) this.#finishReason = choice.finish_reason;
    return isObject(choice.delta) ? begun + this.#take(piecesOf(choice.delta, undefined)) : begun;
  }

  content(text: string): string {
    return this.#take([{ kind: 'text', type: 'output_text', text, logprobs: [] }]);
  }

  rest(): string {
    return this.#order.end();
  }

  ended(charged: ChargedUsage): string {
    const events = this.#begin() + this.#order.end();
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

  #take(pieces: readonly Piece[]): string {
    const shown = pieces.filter((piece) => this.#isShown(piece));
    for (const piece of shown) if (piece.kind === 'text' && piece.type === 'refusal') this.#refusal += piece.text;
    return this.#order.take(shown);
  }

  /** Messages has no custom tools. Input of a call that did not begin is dropped. */
  #isShown(piece: Piece): boolean {
    switch (piece.kind) {
      case 'text':
        return piece.text !== '';
      case 'thought':
        return this.#names.asked.thinking !== undefined;
      case 'call':
        return piece.begun?.type !== 'custom_tool_call';
    }
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
    const isShown = text !== '' && this.#names.asked.thinking === 'shown';
    return isShown ? events + this.#delta({ type: 'thinking_delta', thinking: text }) : events;
  }

  #call({ begun, input }: CallPiece): string {
    let events = '';
    if (begun !== undefined) {
      this.#hasCalls = true;
      events = this.#close();
      events += this.#begun({ kind: 'call' }, toolUse(begun));
    }
    return input === '' ? events : events + this.#delta({ type: 'input_json_delta', partial_json: input });
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
