import { isObject, type JsonObject } from '#core/json-object.ts';
import { BLANK_LINE, toolCall } from '../responses/output-item.ts';
import { MessageItems } from '../responses/reasoning-details.ts';
import { callArguments } from './call-input.ts';
import { failureOf, finishReason, headOf, refusalOf } from './outcome.ts';
import { servedTier } from './service-tier.ts';
import { redactedDetail, thinkingDetail } from './thinking-details.ts';
import { chatUsage } from './usage.ts';

/** A whole message as a chat completion, or as an error. */
export function chatCompletion(body: JsonObject): JsonObject {
  const failure = failureOf(body);
  if (failure !== undefined) return failure;
  if (!Array.isArray(body.content)) return NO_COMPLETION;
  const message = new ReadMessage();
  for (const block of body.content) if (isObject(block)) message.take(block);
  const { id, created, model } = headOf(body);
  const usage = chatUsage(body.usage);
  const choice = {
    index: 0,
    message: message.whole(refusalOf(body.stop_details)),
    logprobs: null,
    finish_reason: finishReason(body.stop_reason, message.items.calls > 0),
  };
  return {
    ...{ id, object: 'chat.completion', created, model, choices: [choice] },
    ...(usage === undefined ? {} : { usage }),
    ...servedTier(body.usage),
  };
}

/** Stands for a body that is no message. */
const NO_COMPLETION: JsonObject = {};

/** The one message of a chat completion, which has all blocks in it. */
class ReadMessage {
  readonly items = new MessageItems();
  readonly #reasoning: string[] = [];
  readonly #details: JsonObject[] = [];
  readonly #calls: JsonObject[] = [];
  #text = '';
  /** Texts that follow each other are one, which citations divide. */
  #isDivided = false;

  take(block: JsonObject): void {
    const { type, text, thinking, name } = block;
    if (type === 'text') {
      if (typeof text === 'string' && text !== '') this.#takeText(text);
      return;
    }
    this.#isDivided = true;
    if (type === 'thinking') {
      if (typeof thinking === 'string' && thinking !== '') this.#reasoning.push(thinking);
      this.#keep(thinkingDetail(thinking, block.signature, this.items.count));
    } else if (type === 'redacted_thinking') this.#keep(redactedDetail(block.data, this.items.count));
    else if (type === 'tool_use' && typeof name === 'string') {
      this.items.calls++;
      this.#calls.push(toolCall({ type: 'function', id: callId(block), name, input: callArguments(block) }));
    }
  }

  #takeText(text: string): void {
    if (this.items.hasText && this.#isDivided) this.#text += BLANK_LINE;
    this.#text += text;
    this.#isDivided = false;
    this.items.hasText = true;
  }

  #keep(detail: JsonObject | undefined): void {
    if (detail === undefined) return;
    this.items.reasoning++;
    this.#details.push(detail);
  }

  whole(refusal: string | undefined): JsonObject {
    return {
      role: 'assistant',
      content: this.items.hasText ? this.#text : null,
      refusal: refusal ?? null,
      ...(this.#reasoning.length === 0 ? {} : { reasoning_content: this.#reasoning.join(BLANK_LINE) }),
      ...(this.#calls.length === 0 ? {} : { tool_calls: this.#calls }),
      ...(this.#details.length === 0 ? {} : { reasoning_details: this.#details }),
    };
  }
}

export function callId({ id }: JsonObject): string {
  return typeof id === 'string' ? id : '';
}
