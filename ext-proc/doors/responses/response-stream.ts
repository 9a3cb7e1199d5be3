import type { Envelope } from '#core/errors/refusal.ts';
import { isObject, type JsonObject } from '#core/json-object.ts';
import { withoutBlankLine } from '../../dialects/chat-message.ts';
import type { Completion } from '../../dialects/completion.ts';
import type { ChargedUsage, DoorStream, ResponseNames } from '../door.ts';
import { sentEvent } from '../events.ts';
import { addDetail, continuesReasoning } from './carried-reasoning.ts';
import {
  type CallItem,
  type ItemStatus,
  type MessageItem,
  type MessagePart,
  NO_ARGUMENTS,
  type OutputItem,
  OutputItems,
  partJson,
  type ReasoningItem,
  summaryPart,
} from './output-items.ts';
import {
  type CallPiece,
  OutputOrder,
  type Piece,
  piecesOf,
  type TextPiece,
  type ThoughtPiece,
} from './output-order.ts';
import { endOf, failureEvents, responseHead, responsesUsage } from './response-object.ts';

/** Memory of an item beside its text, in characters. */
const ITEM_CHARACTERS = 512;

/**
 * Writes a chat stream as events of Responses. All output is kept, because the last event repeats
 * it. One item is open at a time, the last one.
 */
export class ResponseStream implements DoorStream {
  readonly #names: ResponseNames;
  readonly #items: OutputItems;
  readonly #order = new OutputOrder((piece) => this.#write(piece));
  #open: OutputItem | undefined;
  #nextPhase: string | undefined;
  #finishReason: unknown;
  #tier: JsonObject = {};
  #sequence = 0;
  #hasBegun = false;
  #itemCharacters = 0;
  /** Index of the first item that a failure may have cut off. */
  #firstCut: number | undefined;

  constructor(names: ResponseNames) {
    this.#names = names;
    this.#items = new OutputItems(names);
  }

  get keptCharacters(): number {
    return this.#itemCharacters + this.#order.keptCharacters;
  }

  chunk({ choices, service_tier: tier }: Completion): string {
    const begun = this.#begin();
    if (typeof tier === 'string') this.#tier = { service_tier: tier };
    const [choice] = choices;
    if (!isObject(choice)) return begun;
    if (choice.finish_reason !== null && choice.finish_reason !== undefined) this.#finishReason = choice.finish_reason;
    return isObject(choice.delta) ? begun + this.#order.take(piecesOf(choice.delta, choice.logprobs)) : begun;
  }

  content(text: string): string {
    return text === '' ? '' : this.#order.take([{ kind: 'text', type: 'output_text', text, logprobs: [] }]);
  }

  rest(): string {
    this.#firstCut = this.#place();
    return this.#order.end();
  }

  ended(charged: ChargedUsage): string {
    const sequence = this.#sequence;
    const end = endOf(this.#finishReason);
    const status = end.status === 'incomplete' ? 'incomplete' : 'completed';
    const closed = this.#begin() + this.#order.end() + this.#close(status);
    const response = { ...this.#head(), ...end, output: this.#items.all(status), usage: responsesUsage(charged) };
    const events = closed + this.#event(`response.${end.status}`, { response });
    // `failed` may still replace this end, and then uses the same numbers.
    this.#sequence = sequence;
    return events;
  }

  failed(error: Envelope['error'], charged: ChargedUsage | undefined): string {
    const output = this.#items.all('incomplete', this.#firstCut);
    const usage = charged === undefined ? null : responsesUsage(charged);
    const begun = this.#begin();
    return begun + failureEvents(error, { ...this.#head(), output, usage }, this.#sequence);
  }

  #head(): JsonObject {
    return { ...responseHead(this.#names), ...this.#tier };
  }

  #begin(): string {
    if (this.#hasBegun) return '';
    this.#hasBegun = true;
    const response = responseHead(this.#names);
    return this.#event('response.created', { response }) + this.#event('response.in_progress', { response });
  }

  #write(piece: Piece): string {
    switch (piece.kind) {
      case 'text':
        return this.#text(piece);
      case 'thought':
        return this.#thought(piece);
      case 'call':
        return this.#call(piece);
    }
  }

  #text({ type, text: given, logprobs, phase }: TextPiece): string {
    let events = '';
    if (phase !== undefined || this.#open?.type !== 'message') events += this.#close();
    this.#nextPhase = phase ?? this.#nextPhase;
    if (given === '') return events;
    let text = given;
    if (this.#open === undefined) {
      events += this.#added(this.#items.addMessage(this.#nextPhase));
      this.#nextPhase = undefined;
      text = withoutBlankLine(given);
    }
    const item = this.#open;
    if (item?.type !== 'message') return events;
    let part = item.parts.at(-1);
    if (part?.type !== type) {
      part = { type, text: '', logprobs: [] };
      item.parts.push(part);
      events += this.#ofPart('response.content_part.added', item, item.parts.length - 1, { part: partJson(part) });
    }
    part.text += text;
    part.logprobs.push(...logprobs);
    this.#itemCharacters += text.length + JSON.stringify(logprobs).length;
    const more = type === 'refusal' ? {} : { logprobs };
    const at = item.parts.length - 1;
    return events + this.#ofPart(`response.${type}.delta`, item, at, { delta: text, ...more });
  }

  #thought({ text: given, details }: ThoughtPiece): string {
    let events = '';
    // Another entry, or text after an entry, begins other reasoning. Some providers send both in
    // small pieces.
    if (this.#open?.type !== 'reasoning' || !continuesReasoning(this.#open, details)) {
      events += this.#close();
      events += this.#added(this.#items.addReasoning());
    }
    const item = this.#open;
    if (item?.type !== 'reasoning') return events;
    if (given !== '') {
      const isNext = item.text === '' && this.#items.items.length > 1;
      const text = isNext ? withoutBlankLine(given) : given;
      if (item.text === '') events += this.#ofSummary('part.added', item, { part: summaryPart('') });
      item.text += text;
      this.#itemCharacters += text.length;
      events += this.#ofSummary('text.delta', item, { delta: text });
    }
    if (details.length === 0) return events;
    for (const entry of details) addDetail(item.details, entry);
    this.#itemCharacters += JSON.stringify(details).length;
    return events;
  }

  #call({ begun, input }: CallPiece): string {
    let events = '';
    if (begun !== undefined) events = this.#close() + this.#added(this.#items.addCall({ ...begun, input: '' }));
    const item = this.#open;
    if (item === undefined || item.type === 'message' || item.type === 'reasoning') return events;
    return events + this.#callInput(item, input);
  }

  #callInput(item: CallItem, input: string): string {
    if (input === '') return '';
    item.input += input;
    this.#itemCharacters += input.length;
    return this.#ofItem(`${inputEvent(item)}.delta`, item, { delta: input });
  }

  #added(item: OutputItem): string {
    this.#open = item;
    this.#itemCharacters += ITEM_CHARACTERS;
    return this.#event('response.output_item.added', {
      output_index: this.#place(),
      item: this.#items.json(item, 'in_progress'),
    });
  }

  #place(): number {
    return this.#items.items.length - 1;
  }

  /** The last events of the open item. Empty if there is none. */
  #close(status: ItemStatus = this.#firstCut === undefined ? 'completed' : 'incomplete'): string {
    const item = this.#open;
    this.#open = undefined;
    if (item === undefined) return '';
    const isBare = item.type === 'function_call' && item.input === '' && status === 'completed';
    const events = (isBare ? this.#callInput(item, NO_ARGUMENTS) : '') + this.#closedParts(item);
    const ended = { output_index: this.#place(), item: this.#items.json(item, status) };
    return events + this.#event('response.output_item.done', ended);
  }

  #closedParts(item: OutputItem): string {
    switch (item.type) {
      case 'message':
        return item.parts.map((part, at) => this.#closedPart(item, part, at)).join('');
      case 'reasoning':
        if (item.text === '') return '';
        return (
          this.#ofSummary('text.done', item, { text: item.text }) +
          this.#ofSummary('part.done', item, { part: summaryPart(item.text) })
        );
      case 'function_call':
        return this.#ofItem(`${inputEvent(item)}.done`, item, { name: item.name, arguments: item.input });
      case 'custom_tool_call':
        return this.#ofItem(`${inputEvent(item)}.done`, item, { input: item.input });
    }
  }

  #closedPart(item: MessageItem, part: MessagePart, at: number): string {
    const { type, text, logprobs } = part;
    const whole = type === 'refusal' ? { refusal: text } : { text, logprobs };
    return (
      this.#ofPart(`response.${type}.done`, item, at, whole) +
      this.#ofPart('response.content_part.done', item, at, { part: partJson(part) })
    );
  }

  #ofItem(type: string, item: OutputItem, members: JsonObject): string {
    return this.#event(type, { item_id: item.id, output_index: this.#place(), ...members });
  }

  #ofPart(type: string, item: MessageItem, content_index: number, members: JsonObject): string {
    return this.#ofItem(type, item, { content_index, ...members });
  }

  #ofSummary(type: string, item: ReasoningItem, members: JsonObject): string {
    return this.#ofItem(`response.reasoning_summary_${type}`, item, { summary_index: 0, ...members });
  }

  #event(type: string, members: JsonObject): string {
    return sentEvent(type, { sequence_number: this.#sequence++, ...members });
  }
}

function inputEvent({ type }: CallItem): string {
  return type === 'function_call' ? 'response.function_call_arguments' : 'response.custom_tool_call_input';
}
