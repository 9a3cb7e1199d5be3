import { isObject, type JsonObject } from '#core/json-object.ts';
import { chatLogprobs, failureOf, finishReason, isAside, isJsonAnswer, servedTier } from './outcome.ts';
import { BLANK_LINE, calledTool, headOf, type OutputPart, outputParts, toolCall } from './output-item.ts';
import { MessageItems, reasoningDetail } from './reasoning-details.ts';
import { chatUsage } from './usage.ts';

/** A whole response as a chat completion, or as an error. */
export function chatCompletion(response: JsonObject): JsonObject {
  const failure = failureOf(response);
  if (failure !== undefined) return failure;
  if (!Array.isArray(response.output)) return NO_COMPLETION;
  const message = new ReadMessage(isJsonAnswer(response));
  for (const item of response.output) if (isObject(item)) message.take(item);
  const { id, created, model } = headOf(response);
  const usage = chatUsage(response.usage);
  const choice = {
    index: 0,
    message: message.whole(),
    logprobs: chatLogprobs(message.logprobs),
    finish_reason: finishReason(response, message.items.calls > 0),
  };
  return {
    ...{ id, object: 'chat.completion', created, model, choices: [choice] },
    ...(usage === undefined ? {} : { usage }),
    ...servedTier(response),
  };
}

/** Stands for a body that is no response. */
const NO_COMPLETION: JsonObject = {};

/** The one message of a chat completion, which has all items of a response in it. */
class ReadMessage {
  readonly items = new MessageItems();
  readonly logprobs: unknown[] = [];
  readonly #texts: string[] = [];
  readonly #reasoning: string[] = [];
  readonly #details: JsonObject[] = [];
  readonly #calls: JsonObject[] = [];
  readonly #isJson: boolean;
  #refusal: string | null = null;
  #phase: unknown;

  constructor(isJson: boolean) {
    this.#isJson = isJson;
  }

  take(item: JsonObject): void {
    const called = calledTool(item);
    if (called !== undefined) {
      this.items.calls++;
      this.#calls.push(toolCall(called));
      return;
    }
    const aside = isAside(item, this.#isJson);
    let text = '';
    for (const part of outputParts(item)) text += this.#takePart(part, aside);
    if (text !== '') this.#texts.push(text);
    if (item.type === 'message' && !aside) this.#phase = item.phase ?? this.#phase;
    const detail = item.type === 'reasoning' ? reasoningDetail(item, this.items.count) : undefined;
    if (detail === undefined) return;
    this.items.reasoning++;
    this.#details.push(detail);
  }

  /** Returns what belongs to the text of its message. */
  #takePart({ kind, text, logprobs }: OutputPart, aside: boolean): string {
    if (text === '') return '';
    if (kind === 'summary' || kind === 'reasoning' || (kind === 'text' && aside)) {
      this.#reasoning.push(text);
      return '';
    }
    this.items.hasText = true;
    if (Array.isArray(logprobs)) for (const logprob of logprobs) this.logprobs.push(logprob);
    if (kind === 'text') return text;
    this.#refusal = (this.#refusal ?? '') + text;
    return '';
  }

  whole(): JsonObject {
    return {
      role: 'assistant',
      content: this.#texts.length === 0 ? null : this.#texts.join(BLANK_LINE),
      refusal: this.#refusal,
      ...(typeof this.#phase === 'string' ? { phase: this.#phase } : {}),
      ...(this.#reasoning.length === 0 ? {} : { reasoning_content: this.#reasoning.join(BLANK_LINE) }),
      ...(this.#calls.length === 0 ? {} : { tool_calls: this.#calls }),
      ...(this.#details.length === 0 ? {} : { reasoning_details: this.#details }),
    };
  }
}
