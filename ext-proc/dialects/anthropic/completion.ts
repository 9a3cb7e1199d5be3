import { isObject, type JsonObject } from '#core/json-object.ts';
import { BLANK_LINE, headOf, NO_COMPLETION, toolCall, WholeMessage, wholeCompletion } from '../chat-message.ts';
import { callArguments } from './call-input.ts';
import { failureOf, finishReason, refusalOf } from './outcome.ts';
import { servedTier } from './service-tier.ts';
import { redactedDetail, thinkingDetail } from './thinking-details.ts';
import { chatUsage } from './usage.ts';

/** A whole message as a chat completion, or as an error. */
export function chatCompletion(body: JsonObject): JsonObject {
  const failure = failureOf(body);
  if (failure !== undefined) return failure;
  if (!Array.isArray(body.content)) return NO_COMPLETION;
  const read = new ReadMessage();
  for (const block of body.content) if (isObject(block)) read.take(block);
  const choice = {
    message: read.whole(refusalOf(body.stop_details)),
    logprobs: null,
    finish_reason: finishReason(body.stop_reason, read.items.calls > 0),
  };
  return wholeCompletion(headOf(body), choice, chatUsage(body.usage), servedTier(body.usage));
}

/** Builds the message of a chat completion from all blocks. */
class ReadMessage {
  readonly #message = new WholeMessage();
  readonly items = this.#message.items;
  #text = '';
  /** True if another block followed the last text. Adjacent texts are one, divided by citations. */
  #isDivided = false;

  take(block: JsonObject): void {
    const { type, text, thinking, name } = block;
    if (type === 'text') {
      if (typeof text === 'string' && text !== '') this.#takeText(text);
      return;
    }
    this.#isDivided = true;
    const { count } = this.items;
    if (type === 'thinking') {
      this.#message.addReasoning(thinking);
      this.#message.addDetail(thinkingDetail(thinking, block.signature, count));
    } else if (type === 'redacted_thinking') this.#message.addDetail(redactedDetail(block.data, count));
    else if (type === 'tool_use' && typeof name === 'string')
      this.#message.addCall(toolCall({ type: 'function', id: callId(block), name, input: callArguments(block) }));
  }

  #takeText(text: string): void {
    if (this.items.hasText && this.#isDivided) this.#text += BLANK_LINE;
    this.#text += text;
    this.#isDivided = false;
    this.items.hasText = true;
  }

  whole(refusal: string | undefined): JsonObject {
    return this.#message.message({ content: this.items.hasText ? this.#text : null, refusal: refusal ?? null });
  }
}

export function callId({ id }: JsonObject): string {
  return typeof id === 'string' ? id : '';
}
