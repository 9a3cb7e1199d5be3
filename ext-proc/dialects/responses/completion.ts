import { isObject, type JsonObject } from '#core/json-object.ts';
import {
  BLANK_LINE,
  headOf,
  NO_COMPLETION,
  tierMember,
  toolCall,
  WholeMessage,
  wholeCompletion,
} from '../chat-message.ts';
import { chatLogprobs, failureOf, finishReason, isAside, isJsonAnswer } from './outcome.ts';
import { calledTool, type OutputPart, outputParts } from './output-item.ts';
import { reasoningDetail } from './reasoning-details.ts';
import { chatUsage } from './usage.ts';

/** A whole response as a chat completion, or as an error. */
export function chatCompletion(response: JsonObject): JsonObject {
  const failure = failureOf(response);
  if (failure !== undefined) return failure;
  if (!Array.isArray(response.output)) return NO_COMPLETION;
  const read = new ReadMessage(isJsonAnswer(response));
  for (const item of response.output) if (isObject(item)) read.take(item);
  const choice = {
    message: read.whole(),
    logprobs: chatLogprobs(read.logprobs),
    finish_reason: finishReason(response, read.items.calls > 0),
  };
  return wholeCompletion(headOf(response), choice, chatUsage(response.usage), tierMember(response.service_tier));
}

/** Builds the message of a chat completion from all items of a response. */
class ReadMessage {
  readonly #message = new WholeMessage();
  readonly items = this.#message.items;
  readonly logprobs: unknown[] = [];
  readonly #texts: string[] = [];
  readonly #isJson: boolean;
  #refusal: string | null = null;
  #phase: unknown;

  constructor(isJson: boolean) {
    this.#isJson = isJson;
  }

  take(item: JsonObject): void {
    const called = calledTool(item);
    if (called !== undefined) {
      this.#message.addCall(toolCall(called));
      return;
    }
    const aside = isAside(item, this.#isJson);
    let text = '';
    for (const part of outputParts(item)) text += this.#takePart(part, aside);
    if (text !== '') this.#texts.push(text);
    if (item.type === 'message' && !aside) this.#phase = item.phase ?? this.#phase;
    if (item.type === 'reasoning') this.#message.addDetail(reasoningDetail(item, this.items.count));
  }

  /** Returns the part's share of the message's text. */
  #takePart({ kind, text, logprobs }: OutputPart, aside: boolean): string {
    if (text === '') return '';
    if (kind === 'summary' || kind === 'reasoning' || (kind === 'text' && aside)) {
      this.#message.addReasoning(text);
      return '';
    }
    this.items.hasText = true;
    if (Array.isArray(logprobs)) for (const logprob of logprobs) this.logprobs.push(logprob);
    if (kind === 'text') return text;
    this.#refusal = (this.#refusal ?? '') + text;
    return '';
  }

  whole(): JsonObject {
    return this.#message.message({
      content: this.#texts.length === 0 ? null : this.#texts.join(BLANK_LINE),
      refusal: this.#refusal,
      ...(typeof this.#phase === 'string' ? { phase: this.#phase } : {}),
    });
  }
}
