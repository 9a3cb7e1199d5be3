import type { Envelope } from '#core/errors/refusal.ts';
import { isObject, type JsonObject } from '#core/json-object.ts';
import { withoutBlankLine } from '../../dialects/chat-message.ts';
import type { Completion } from '../../dialects/completion.ts';
import type { ChargedUsage, DoorStream, ResponseNames } from '../door.ts';
import { sentEvent } from '../events.ts';
import { addDetail, continuesReasoning } from './carried-reasoning.ts';
import {
  type CallItem,
  chatCall,
  type MessageItem,
  type MessagePart,
  NO_ARGUMENTS,
  type OutputItem,
  OutputItems,
  partJson,
  type ReasoningItem,
  spokenText,
  summaryPart,
  textLogprobs,
} from './output-items.ts';
import { endOf, failureEvents, responseHead, responsesUsage } from './response-object.ts';

/** Memory of an item beside its text, in characters. */
const ITEM_CHARACTERS = 512;

/**
 * Writes a chat stream as events of Responses. All output is kept, because the last event repeats
 * it. Items stay open until the end, because providers may alternate between the arguments of
 * several calls. Only reasoning ends when other output begins.
 */
export class ResponseStream implements DoorStream {
  readonly #names: ResponseNames;
  readonly #items: OutputItems;
  readonly #places = new Map<OutputItem, number>();
  readonly #calls = new Map<unknown, CallItem>();
  #message: MessageItem | undefined;
  #nextPhase: string | undefined;
  #reasoning: ReasoningItem | undefined;
  #finishReason: unknown;
  #tier: JsonObject = {};
  #sequence = 0;
  #hasBegun = false;
  keptCharacters = 0;

  constructor(names: ResponseNames) {
    this.#names = names;
    this.#items = new OutputItems(names);
  }

  chunk({ choices, service_tier: tier }: Completion): string {
    const begun = this.#begin();
    if (typeof tier === 'string') this.#tier = { service_tier: tier };
    const [choice] = choices;
    if (!isObject(choice)) return begun;
    if (choice.finish_reason !== null && choice.finish_reason !== undefined) this.#finishReason = choice.finish_reason;
    return isObject(choice.delta) ? begun + this.#delta(choice.delta, choice.logprobs) : begun;
  }

  content(text: string): string {
    return text === '' ? '' : this.#text('output_text', text, []);
  }

  ended(charged: ChargedUsage): string {
    const sequence = this.#sequence;
    const end = endOf(this.#finishReason);
    const status = end.status === 'incomplete' ? 'incomplete' : 'completed';
    const closed = this.#begin() + this.#items.items.map((item) => this.#closed(item, status)).join('');
    const response = { ...this.#head(), ...end, output: this.#items.all(status), usage: responsesUsage(charged) };
    const events = closed + this.#event(`response.${end.status}`, { response });
    // `failed` may still replace this end, and then uses the same numbers.
    this.#sequence = sequence;
    return events;
  }

  failed(error: Envelope['error'], charged: ChargedUsage | undefined): string {
    const output = this.#items.all('incomplete');
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

  #delta(delta: JsonObject, logprobs: unknown): string {
    const { refusal, reasoning_content, reasoning, reasoning_details: details, tool_calls: calls } = delta;
    const content = spokenText(delta.content);
    const thought = reasoning_content ?? reasoning;
    let events = '';
    if (typeof delta.phase === 'string') this.#phase(delta.phase);
    const entries = Array.isArray(details) ? details.filter(isObject) : [];
    // Another entry, or text after an entry, begins other reasoning. Some providers send both in
    // small pieces.
    if (this.#reasoning !== undefined && !continuesReasoning(this.#reasoning, entries)) events += this.#endReasoning();
    if (typeof thought === 'string' && thought !== '') events += this.#thought(thought);
    if (entries.length > 0) events += this.#details(entries);
    if (content !== '') events += this.#text('output_text', content, textLogprobs(logprobs));
    if (typeof refusal === 'string' && refusal !== '') events += this.#text('refusal', refusal, []);
    if (Array.isArray(calls)) for (const call of calls.filter(isObject)) events += this.#call(call);
    return events;
  }

  /** A phase begins another message. */
  #phase(phase: string): void {
    this.#nextPhase = phase;
    this.#message = undefined;
  }

  #text(type: MessagePart['type'], text: string, logprobs: readonly unknown[]): string {
    let events = this.#endReasoning();
    if (this.#message === undefined) {
      this.#message = this.#items.addMessage(this.#nextPhase);
      this.#nextPhase = undefined;
      return events + this.#added(this.#message) + this.#text(type, withoutBlankLine(text), logprobs);
    }
    const item = this.#message;
    let part = item.parts.at(-1);
    if (part?.type !== type) {
      part = { type, text: '', logprobs: [] };
      item.parts.push(part);
      events += this.#ofPart('response.content_part.added', item, item.parts.length - 1, { part: partJson(part) });
    }
    part.text += text;
    part.logprobs.push(...logprobs);
    this.keptCharacters += text.length + JSON.stringify(logprobs).length;
    const more = type === 'refusal' ? {} : { logprobs };
    const at = item.parts.length - 1;
    return events + this.#ofPart(`response.${type}.delta`, item, at, { delta: text, ...more });
  }

  #thought(given: string): string {
    let events = this.#reasoning === undefined ? this.#beginReasoning() : '';
    const item = this.#reasoning;
    if (item === undefined) return events;
    const isNext = item.text === '' && this.#items.items.length > 1;
    const text = isNext ? withoutBlankLine(given) : given;
    if (item.text === '') events += this.#ofSummary('part.added', item, { part: summaryPart('') });
    item.text += text;
    this.keptCharacters += text.length;
    return events + this.#ofSummary('text.delta', item, { delta: text });
  }

  #details(entries: readonly JsonObject[]): string {
    const events = this.#reasoning === undefined ? this.#beginReasoning() : '';
    for (const entry of entries) if (this.#reasoning) addDetail(this.#reasoning.details, entry);
    this.keptCharacters += JSON.stringify(entries).length;
    return events;
  }

  #beginReasoning(): string {
    this.#reasoning = this.#items.addReasoning();
    return this.#added(this.#reasoning);
  }

  #endReasoning(): string {
    const item = this.#reasoning;
    this.#reasoning = undefined;
    if (item === undefined) return '';
    const events = this.#closed(item, 'completed');
    this.#places.delete(item);
    return events;
  }

  #call(call: JsonObject): string {
    const index = call.index ?? 0;
    const begun = chatCall(call);
    if (begun !== undefined) {
      const events = this.#endReasoning();
      const item = this.#items.addCall({ ...begun, input: '' });
      this.#calls.set(index, item);
      return events + this.#added(item) + this.#callInput(item, begun.input);
    }
    const known = this.#calls.get(index);
    const { function: called, custom } = call;
    const input = isObject(custom) ? custom.input : isObject(called) ? called.arguments : undefined;
    return known === undefined || typeof input !== 'string' ? '' : this.#callInput(known, input);
  }

  #callInput(item: CallItem, input: string): string {
    if (input === '') return '';
    item.input += input;
    this.keptCharacters += input.length;
    return this.#ofItem(`${inputEvent(item)}.delta`, item, { delta: input });
  }

  #added(item: OutputItem): string {
    this.#places.set(item, this.#items.items.length - 1);
    this.keptCharacters += ITEM_CHARACTERS;
    const output_index = this.#items.items.length - 1;
    return this.#event('response.output_item.added', { output_index, item: this.#items.json(item, 'in_progress') });
  }

  /** The last events of an item. Empty if it has ended already. */
  #closed(item: OutputItem, status: 'completed' | 'incomplete'): string {
    const output_index = this.#places.get(item);
    if (output_index === undefined) return '';
    const isBare = item.type === 'function_call' && item.input === '' && status === 'completed';
    const events = (isBare ? this.#callInput(item, NO_ARGUMENTS) : '') + this.#closedParts(item);
    return events + this.#event('response.output_item.done', { output_index, item: this.#items.json(item, status) });
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
    return this.#event(type, { item_id: item.id, output_index: this.#places.get(item), ...members });
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
