import { isObject, type JsonObject, parseObject } from '#core/json-object.ts';
import { BLANK_LINE, headOf, MessageItems, toolCall } from '../chat-message.ts';
import { ChunkText } from '../chunk-text.ts';
import { DeltaTemplate } from '../delta-template.ts';
import { DONE_EVENTS, type FurtherDelta, isNothing, NO_EVENTS, type StreamTranslator } from '../dialect.ts';
import { callArguments } from './call-input.ts';
import { callId } from './completion.ts';
import { chatError } from './errors.ts';
import { type OpenBlock, OpenBlocks } from './open-blocks.ts';
import { failureOf, finishReason, refusalOf } from './outcome.ts';
import { servedTier } from './service-tier.ts';
import { redactedDetail, thinkingDetail } from './thinking-details.ts';
import { chatUsage, mergedUsage, usageSoFar } from './usage.ts';

type DeltaName = 'text' | 'thinking' | 'partial_json';

/** How further deltas of a block are passed on. */
interface GoOn {
  readonly block: OpenBlock;
  /** Writes the chunk for a text, which is given as JSON. */
  readonly write: (text: string) => string;
}

/**
 * Translates one stream of Messages. The only text that it keeps is the thinking of open blocks:
 * its signature comes last, and the client must send both back together.
 *
 * No chunk is made before the first output. If the message fails before that, another target can
 * still be tried.
 */
export class MessageStream implements StreamTranslator {
  readonly #chunks = new ChunkText();
  readonly #blocks = new OpenBlocks();
  readonly #items = new MessageItems();
  /** True if another block came after the last text. */
  #isTextDivided = false;
  #lastThinking: OpenBlock | undefined;
  readonly #templates: Readonly<Record<DeltaName, DeltaTemplate>> = {
    text: new DeltaTemplate('text'),
    thinking: new DeltaTemplate('thinking'),
    partial_json: new DeltaTemplate('partial_json'),
  };
  #template = this.#templates.text;
  /** Passes on a delta of the same block as the one that was learnt. */
  #goOn: GoOn | undefined;
  #latest: OpenBlock | undefined;
  #usage: JsonObject = {};
  /** True once the output was counted. Before, the stream only contains a guess. */
  #isCounted = false;
  #stopReason: unknown;
  #stopDetails: unknown;
  /** True if the template matched the last event. */
  #isKnown = false;
  #isOver = false;
  reported: JsonObject | undefined;

  get keptCharacters(): number {
    return this.#blocks.keptCharacters;
  }

  forget(): void {
    this.#blocks.forget();
  }

  take(type: string, data: string): readonly string[] {
    if (this.#isOver) return NO_EVENTS;
    this.#isKnown = this.#goOn !== undefined && this.#template.match(withoutLastBrace(data));
    if (this.#goOn !== undefined && this.#isKnown) return this.#again(this.#goOn);
    const event = parseObject(data);
    // The readers of chat streams judge other text, which is mostly the end of a cut stream.
    if (event === undefined) return isNothing(data) ? NO_EVENTS : [data];
    const events = this.#translate(typeof event.type === 'string' ? event.type : type, event, data);
    return this.#blocks.isTooMuch ? this.#fail(TOO_MUCH) : this.#chunks.begun(events);
  }

  further(text: string, start: number): FurtherDelta | undefined {
    if (!this.#isKnown || this.#goOn?.block.begun.type !== 'text') return undefined;
    const known = this.#template.further(text, start);
    if (known === undefined) return undefined;
    let end = known.end;
    while (text.charCodeAt(end) === SPACE) end++;
    return text.charCodeAt(end) === LAST_BRACE ? { ...known, end: end + 1 } : undefined;
  }

  #translate(type: string, event: JsonObject, data: string): readonly string[] {
    switch (type) {
      case 'content_block_delta':
        return isObject(event.delta) ? this.#delta(event.index, event.delta, data) : NO_EVENTS;
      case 'content_block_start':
        return this.#begin(event.index, isObject(event.content_block) ? event.content_block : {});
      case 'content_block_stop':
        return this.#end(this.#blocks.end(event.index));
      case 'message_start':
        if (isObject(event.message)) this.#start(event.message);
        return NO_EVENTS;
      case 'message_delta':
        this.#noteEnd(event);
        return NO_EVENTS;
      case 'message_stop':
        return this.#finish();
      case 'error':
        return this.#fail(chatError(event.error));
      default:
        // An error in chat's form, which some gateways send in every API.
        return type === '' && isObject(event.error) ? this.#fail(failureOf(event) ?? {}) : NO_EVENTS;
    }
  }

  #start(message: JsonObject): void {
    this.#chunks.begin(headOf(message));
    this.#noteUsage(message.usage);
  }

  #noteUsage(usage: unknown): void {
    this.#usage = mergedUsage(this.#usage, usage);
    this.reported = usageSoFar(this.#usage, this.#isCounted);
  }

  #begin(index: unknown, begun: JsonObject): readonly string[] {
    const ended = this.#end(this.#blocks.end(index));
    const block = this.#blocks.begin(index, begun);
    if (begun.type !== 'text') this.#isTextDivided = true;
    return [...ended, ...this.#beginning(block)];
  }

  #beginning(block: OpenBlock): readonly string[] {
    const { begun } = block;
    switch (begun.type) {
      case 'text':
        return this.#text(block, begun.text);
      case 'thinking':
        block.signature = begun.signature;
        return this.#thinking(block, begun.thinking);
      case 'tool_use':
        return typeof begun.name === 'string' ? [this.#callChunk(block, begun.name)] : NO_EVENTS;
      default:
        return NO_EVENTS;
    }
  }

  #callChunk(block: OpenBlock, name: string): string {
    const index = this.#items.calls++;
    block.call = index;
    const call = toolCall({ type: 'function', id: callId(block.begun), name, input: '' });
    return this.#chunks.delta({ tool_calls: [{ index, ...call }] });
  }

  #delta(index: unknown, delta: JsonObject, data: string): readonly string[] {
    switch (delta.type) {
      case 'text_delta': {
        const { block, ended } = this.#blockOf(index, 'text');
        const events = this.#text(block, delta.text);
        this.#learn(data, delta, 'text', { block, write: (text) => this.#chunks.content(text, '') });
        return [...ended, ...events];
      }
      case 'thinking_delta': {
        const { block, ended } = this.#blockOf(index, 'thinking');
        const events = this.#thinking(block, delta.thinking);
        this.#learn(data, delta, 'thinking', { block, write: (text) => this.#chunks.reasoning(text, '') });
        return [...ended, ...events];
      }
      case 'input_json_delta':
        return this.#input(this.#blocks.at(index), delta, data);
      case 'signature_delta': {
        const { block, ended } = this.#blockOf(index, 'thinking');
        block.signature = delta.signature;
        return ended;
      }
      default:
        return NO_EVENTS;
    }
  }

  /** Begins a block if needed: some servers omit the beginnings, or give all events one index. */
  #blockOf(index: unknown, type: 'text' | 'thinking'): { block: OpenBlock; ended: readonly string[] } {
    const block = this.#blocks.at(index);
    if (block?.begun.type === type) return { block, ended: NO_EVENTS };
    const ended = this.#end(this.#blocks.end(index));
    if (type === 'thinking') this.#isTextDivided = true;
    return { block: this.#blocks.begin(index, { type }), ended };
  }

  #text(block: OpenBlock, text: unknown): readonly string[] {
    if (typeof text !== 'string' || text === '') return NO_EVENTS;
    const isNext = this.#items.hasText && this.#isTextDivided && !block.isSent;
    block.isSent = true;
    this.#isTextDivided = false;
    this.#items.hasText = true;
    return [this.#chunks.content(JSON.stringify(isNext ? BLANK_LINE + text : text), '')];
  }

  #thinking(block: OpenBlock, text: unknown): readonly string[] {
    if (typeof text !== 'string' || text === '') return NO_EVENTS;
    const isNext = this.#lastThinking !== undefined && this.#lastThinking !== block;
    this.#lastThinking = block;
    const json = JSON.stringify(text);
    this.#blocks.keep(block, json.slice(1, -1));
    return [this.#chunks.reasoning(isNext ? JSON.stringify(BLANK_LINE + text) : json, '')];
  }

  #input(block: OpenBlock | undefined, delta: JsonObject, data: string): readonly string[] {
    const { partial_json: text } = delta;
    const call = block?.call;
    if (block === undefined || call === undefined || typeof text !== 'string' || text === '') return NO_EVENTS;
    block.isSent = true;
    const write: GoOn['write'] = (json) => this.#chunks.callInput(call, 'function', json, '');
    this.#learn(data, delta, 'partial_json', { block, write });
    return [write(JSON.stringify(text))];
  }

  #learn(data: string, delta: JsonObject, name: DeltaName, goOn: GoOn): void {
    const isSame = this.#latest === goOn.block;
    this.#latest = goOn.block;
    const text = delta[name];
    // Deltas of alternating blocks are not learnt, because the next delta would not match.
    if (!isSame || typeof text !== 'string') return;
    this.#template = this.#templates[name];
    this.#template.learn(withoutLastBrace(data), text);
    this.#goOn = goOn;
  }

  #again({ block, write }: GoOn): readonly string[] {
    const { delta } = this.#template;
    if (delta === '') return NO_EVENTS;
    if (block.begun.type === 'thinking') {
      this.#blocks.keep(block, delta);
      if (this.#blocks.isTooMuch) return this.#fail(TOO_MUCH);
    }
    return [write(`"${delta}"`)];
  }

  /** Passes on the thinking of a block for the next turn, and input that had no deltas. */
  #end(block: OpenBlock | undefined): readonly string[] {
    this.#goOn = undefined;
    if (block === undefined) return NO_EVENTS;
    const { begun, call } = block;
    if (call !== undefined && !block.isSent) {
      return [this.#chunks.callInput(call, 'function', JSON.stringify(callArguments(begun)), '')];
    }
    if (begun.type === 'thinking')
      return this.#detail(thinkingDetail(block.kept.text(), block.signature, this.#items.count));
    return begun.type === 'redacted_thinking' ? this.#detail(redactedDetail(begun.data, this.#items.count)) : NO_EVENTS;
  }

  #detail(detail: JsonObject | undefined): readonly string[] {
    if (detail === undefined) return NO_EVENTS;
    this.#items.reasoning++;
    return [this.#chunks.delta({ reasoning_details: [detail] })];
  }

  #noteEnd({ delta, usage }: JsonObject): void {
    this.#isCounted ||= isObject(usage) && typeof usage.output_tokens === 'number';
    this.#noteUsage(usage);
    if (!isObject(delta)) return;
    this.#stopReason = delta.stop_reason ?? this.#stopReason;
    this.#stopDetails = delta.stop_details ?? this.#stopDetails;
  }

  #finish(): readonly string[] {
    const events = this.#blocks.endAll().flatMap((block) => this.#end(block));
    const refusal = refusalOf(this.#stopDetails);
    if (refusal !== undefined) events.push(this.#chunks.delta({ refusal }));
    const tier = servedTier(this.#usage);
    events.push(this.#chunks.finish(finishReason(this.#stopReason, this.#items.calls > 0), tier));
    const usage = this.#isCounted ? chatUsage(this.#usage) : undefined;
    if (usage !== undefined) events.push(this.#chunks.usage(usage, tier));
    this.#isOver = true;
    return [...events, ...DONE_EVENTS];
  }

  #fail(error: JsonObject): readonly string[] {
    this.#isOver = true;
    return [JSON.stringify(error)];
  }
}

const TOO_MUCH = chatError({ type: 'api_error', message: 'The stream has more parts than can be followed.' });

const SPACE = 0x20;
const LAST_BRACE = 0x7d;

/**
 * Cuts off the last brace of an event and the white space before it, with which Anthropic pads its
 * events. The rest is compared with the template. Cutting copies nothing: all of this takes 0.3 us,
 * and 0.7 us if the brace is put back.
 */
function withoutLastBrace(data: string): string {
  let end = data.length - 1;
  if (data.charCodeAt(end) !== LAST_BRACE) return '';
  while (data.charCodeAt(end - 1) === SPACE) end--;
  return data.slice(0, end);
}
