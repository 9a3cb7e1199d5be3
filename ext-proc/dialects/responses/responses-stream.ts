import { isObject, type JsonObject, parseObject } from '#core/json-object.ts';
import { BLANK_LINE, type CalledTool, headOf, MessageItems, tierMember, toolCall } from '../chat-message.ts';
import { ChunkText, paddingOf, paddingWith } from '../chunk-text.ts';
import { DeltaTemplate } from '../delta-template.ts';
import { DONE_EVENTS, type FurtherDelta, isNothing, NO_EVENTS, type StreamTranslator } from '../dialect.ts';
import { chatError } from './errors.ts';
import { chatLogprobs, failureOf, finishReason, isAside, isJsonAnswer } from './outcome.ts';
import { calledTool, type OutputPart, outputParts } from './output-item.ts';
import { reasoningDetail } from './reasoning-details.ts';
import { SentCalls } from './sent-calls.ts';
import { type SentItem, SentParts } from './sent-parts.ts';
import { chatUsage } from './usage.ts';

/**
 * Events that repeat the text of deltas. They are as long as all of the text, and are not read:
 * `response.output_item.done` repeats it again.
 */
const REPEATED: ReadonlySet<string> = new Set(
  [
    ...['output_text.done', 'refusal.done', 'reasoning_text.done', 'content_part.added', 'content_part.done'],
    ...['reasoning_summary_text.done', 'reasoning_summary_part.added', 'reasoning_summary_part.done'],
  ].map((name) => `response.${name}`),
);

/** Longer than any phase. Phases are kept until their text begins. */
const LONGEST_PHASE = 100;

/** How further deltas of a part are passed on. */
interface Continuation {
  readonly parts: boolean[];
  readonly part: unknown;
  /** Writes the chunk for a text and a padding, both given as JSON. */
  readonly write: (text: string, padding: string) => string;
}

/**
 * Translates one stream of Responses. It keeps whether each item and part was passed on, for at
 * most 4096 of them, and no text but that of calls which must wait.
 *
 * No chunk is made before the first output. If the response fails before that, another target can
 * still be tried.
 */
export class ResponsesStream implements StreamTranslator {
  reported: JsonObject | undefined;
  readonly #chunks = new ChunkText();
  readonly #sent = new SentParts();
  readonly #items = new MessageItems();
  readonly #calls: SentCalls;
  #isJson = false;
  /** Message of the last text, and part of the last reasoning. */
  #textItem: SentItem | undefined;
  #reasoningParts: boolean[] | undefined;
  #reasoningPart: unknown;
  readonly #template = new DeltaTemplate('delta');
  /** Continues the delta that the template has learnt, and the last one that was parsed. */
  #learnt: Continuation | undefined;
  #latest: Continuation | undefined;
  /** True if the template matched the last event. Only then may `further` use it. */
  #isKnown = false;
  #isOver = false;

  constructor(isPassed?: boolean) {
    this.#calls = new SentCalls(isPassed);
  }

  get keptCharacters(): number {
    return this.#calls.keptCharacters;
  }

  take(type: string, data: string): readonly string[] {
    this.#isKnown = false;
    if (this.#isOver || REPEATED.has(type)) return NO_EVENTS;
    this.#isKnown = this.#template.match(data);
    if (this.#learnt !== undefined && this.#isKnown) return this.#again(this.#learnt);
    const event = parseObject(data);
    // The readers of chat streams judge other text, which is mostly the end of a cut stream.
    if (event === undefined) return isNothing(data) ? NO_EVENTS : [data];
    const events = this.#translate(typeof event.type === 'string' ? event.type : type, event, data);
    return this.#sent.isTooMuch ? this.#fail(TOO_MUCH) : this.#chunks.begun(events);
  }

  further(text: string, start: number): FurtherDelta | undefined {
    return this.#learnt !== undefined && this.#isKnown ? this.#template.further(text, start) : undefined;
  }

  #translate(type: string, event: JsonObject, data: string): readonly string[] {
    switch (type) {
      case 'response.output_text.delta':
        return this.#text(event, data);
      case 'response.function_call_arguments.delta':
        return this.#callInput(event, 'function', data);
      case 'response.custom_tool_call_input.delta':
        return this.#callInput(event, 'custom', data);
      case 'response.reasoning_summary_text.delta':
        return this.#reasoning(event, 'summary', event.summary_index, data);
      case 'response.reasoning_text.delta':
        return this.#reasoning(event, 'content', event.content_index, data);
      case 'response.refusal.delta':
        return this.#refusal(event);
      case 'response.created':
      case 'response.in_progress':
      case 'response.queued':
        if (isObject(event.response)) this.#begin(event.response);
        return NO_EVENTS;
      case 'response.output_item.added':
        return isObject(event.item) ? this.#added(event.output_index, event.item) : NO_EVENTS;
      case 'response.output_item.done':
        return isObject(event.item) ? this.#rest(event.output_index, event.item) : NO_EVENTS;
      case 'response.function_call_arguments.done':
      case 'response.custom_tool_call_input.done':
        return this.#inputEnded(event);
      case 'response.completed':
        return this.#end(event, 'completed');
      case 'response.incomplete':
        return this.#end(event, 'incomplete');
      case 'response.failed':
        return this.#end(event, 'failed');
      case 'error':
        return this.#fail(chatError(isObject(event.error) ? event.error : event, FAILED));
      default:
        // An error in chat's form, which some gateways send in every API.
        return type === '' && isObject(event.error) ? this.#fail(chatError(event.error, FAILED)) : NO_EVENTS;
    }
  }

  #begin(response: JsonObject): void {
    this.#chunks.begin(headOf(response));
    this.#isJson ||= isJsonAnswer(response);
    const usage = chatUsage(response.usage);
    if (usage !== undefined) this.reported = { usage, ...tierMember(response.service_tier) };
  }

  #again({ write }: Continuation): readonly string[] {
    const { delta, padding } = this.#template;
    return delta === '' ? NO_EVENTS : [write(`"${delta}"`, padding === undefined ? '' : paddingWith(`"${padding}"`))];
  }

  #text(event: JsonObject, data: string): readonly string[] {
    const { delta, content_index: part } = event;
    if (typeof delta !== 'string' || delta === '') return NO_EVENTS;
    const item = this.#sent.item(event.output_index, event.item_id);
    if (item.isAside) return this.#reasoning(event, 'content', part, data);
    const parts = item.content;
    this.#sent.mark(parts, part);
    const logprobs = chatLogprobs(event.logprobs);
    if (logprobs === null)
      this.#learn(data, delta, { parts, part, write: (text, padding) => this.#chunks.content(text, padding) });
    return [...this.#phaseOf(item), this.#textChunk(item, delta, logprobs, paddingOf(event))];
  }

  #phaseOf(item: SentItem): readonly string[] {
    const { phase } = item;
    if (phase === undefined) return NO_EVENTS;
    item.phase = undefined;
    return [this.#chunks.delta({ phase })];
  }

  #textChunk(item: SentItem, text: string, logprobs: JsonObject | null, padding: string): string {
    const isNext = this.#textItem !== undefined && item !== this.#textItem;
    this.#textItem = item;
    this.#items.hasText = true;
    const content = JSON.stringify(isNext ? BLANK_LINE + text : text);
    return this.#chunks.content(content, padding, logprobs === null ? undefined : JSON.stringify(logprobs));
  }

  #refusal(event: JsonObject): readonly string[] {
    const { delta } = event;
    if (typeof delta !== 'string' || delta === '') return NO_EVENTS;
    const item = this.#sent.item(event.output_index, event.item_id);
    this.#sent.mark(item.content, event.content_index);
    this.#items.hasText = true;
    return [...this.#phaseOf(item), this.#chunks.delta({ refusal: delta }, paddingOf(event))];
  }

  #reasoning(event: JsonObject, kind: 'summary' | 'content', part: unknown, data: string): readonly string[] {
    const { delta } = event;
    if (typeof delta !== 'string' || delta === '') return NO_EVENTS;
    const parts = this.#sent.item(event.output_index, event.item_id)[kind];
    this.#sent.mark(parts, part);
    this.#learn(data, delta, { parts, part, write: (text, padding) => this.#chunks.reasoning(text, padding) });
    return [this.#reasoningChunk(parts, part, delta, paddingOf(event))];
  }

  #reasoningChunk(parts: boolean[], part: unknown, text: string, padding: string): string {
    const isFirst = this.#reasoningParts === undefined;
    const isSame = parts === this.#reasoningParts && part === this.#reasoningPart;
    this.#reasoningParts = parts;
    this.#reasoningPart = part;
    return this.#chunks.reasoning(JSON.stringify(isFirst || isSame ? text : BLANK_LINE + text), padding);
  }

  /** A call that has not begun is passed on when its item is whole. */
  #callInput(event: JsonObject, type: CalledTool['type'], data: string): readonly string[] {
    const { delta } = event;
    if (typeof delta !== 'string' || delta === '') return NO_EVENTS;
    const { call, content: parts } = this.#sent.item(event.output_index, event.item_id);
    if (call === undefined) return NO_EVENTS;
    this.#sent.mark(parts, 0);
    const write: Continuation['write'] = (text, padding) => this.#chunks.callInput(call, type, text, padding);
    this.#learn(data, delta, { parts, part: 0, write });
    return [write(JSON.stringify(delta), paddingOf(event))];
  }

  /** Some servers do not send the end of the item. */
  #inputEnded(event: JsonObject): readonly string[] {
    const sent = this.#sent.item(event.output_index, event.item_id);
    return this.#calls.inputEnded(sent).flatMap((call) => this.#restOfCall(...call));
  }

  #learn(data: string, delta: string, deltas: Continuation): void {
    const { parts, part } = this.#latest ?? {};
    this.#latest = deltas;
    this.#learnt = undefined;
    // Deltas of alternating calls are not learnt, because the next delta would not match.
    if (parts !== deltas.parts || part !== deltas.part) return;
    this.#template.learn(data, delta);
    this.#learnt = deltas;
  }

  #added(index: unknown, item: JsonObject): readonly string[] {
    const sent = this.#sent.item(index, item.id);
    const called = calledTool(item);
    if (called !== undefined) return this.#calls.begin(sent) ? [this.#callChunk(sent, called)] : NO_EVENTS;
    sent.isAside = isAside(item, this.#isJson);
    const { type, phase } = item;
    if (type === 'message' && typeof phase === 'string' && phase.length <= LONGEST_PHASE && !sent.isAside)
      sent.phase = phase;
    return NO_EVENTS;
  }

  #callChunk(sent: SentItem, called: CalledTool): string {
    const index = this.#items.calls++;
    sent.call = index;
    if (called.input !== '') this.#sent.mark(sent.content, 0);
    return this.#chunks.delta({ tool_calls: [{ index, ...toolCall(called) }] });
  }

  /** Passes on the parts of an item that had no deltas, and its reasoning for the next turn. */
  #rest(index: unknown, item: JsonObject): readonly string[] {
    const sent = this.#sent.item(index, item.id);
    if (sent.isWhole) return NO_EVENTS;
    sent.isWhole = true;
    sent.isAside ||= isAside(item, this.#isJson);
    const called = calledTool(item);
    if (called !== undefined) return this.#calls.end(sent, called).flatMap((call) => this.#restOfCall(...call));
    const phase = this.#phaseOf(sent);
    const events = [...phase, ...outputParts(item).flatMap((part) => this.#restOfPart(sent, part))];
    const detail = item.type === 'reasoning' ? reasoningDetail(item, this.#items.count) : undefined;
    if (detail === undefined) return events;
    this.#items.reasoning++;
    return [...events, this.#chunks.delta({ reasoning_details: [detail] })];
  }

  #restOfCall(sent: SentItem, called: CalledTool): readonly string[] {
    if (sent.call === undefined) return [this.#callChunk(sent, called)];
    if (sent.content[0] === true || called.input === '') return NO_EVENTS;
    return [this.#chunks.callInput(sent.call, called.type, JSON.stringify(called.input), '')];
  }

  #restOfPart(sent: SentItem, { kind, index, text, logprobs }: OutputPart): string[] {
    const parts = kind === 'summary' ? sent.summary : sent.content;
    if (text === '' || parts[index] === true) return [];
    this.#sent.mark(parts, index);
    if (kind === 'text' && !sent.isAside) return [this.#textChunk(sent, text, chatLogprobs(logprobs), '')];
    if (kind !== 'refusal') return [this.#reasoningChunk(parts, index, text, '')];
    this.#items.hasText = true;
    return [this.#chunks.delta({ refusal: text })];
  }

  #end(event: JsonObject, status: 'completed' | 'incomplete' | 'failed'): readonly string[] {
    const response = { ...(isObject(event.response) ? event.response : {}), status };
    const failure = failureOf(response);
    this.#begin(response);
    return failure === undefined ? this.#finish(response) : this.#fail(failure);
  }

  #finish(response: JsonObject): readonly string[] {
    const output = Array.isArray(response.output) ? response.output : [];
    const events = output.flatMap((item: unknown, index) => (isObject(item) ? this.#rest(index, item) : []));
    for (const call of this.#calls.rest()) events.push(...this.#restOfCall(...call));
    const tier = tierMember(response.service_tier);
    events.push(this.#chunks.finish(finishReason(response, this.#items.calls > 0), tier));
    const usage = chatUsage(response.usage);
    if (usage !== undefined) events.push(this.#chunks.usage(usage, tier));
    this.#isOver = true;
    return [...events, ...DONE_EVENTS];
  }

  #fail(error: JsonObject): readonly string[] {
    this.#isOver = true;
    return [JSON.stringify(error)];
  }
}

const FAILED = 'The stream failed.';
const TOO_MUCH = chatError({ code: 'server_error' }, 'The stream has more parts than can be followed.');
