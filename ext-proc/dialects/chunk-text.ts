import type { JsonObject } from '#core/json-object.ts';
import { type CompletionHead, headOf } from './chat-message.ts';

/**
 * Writes the chunks of one chat stream as text. The beginning of a chunk is prepared once, because
 * most chunks differ only in the text of their delta.
 */
export class ChunkText {
  #head: CompletionHead | undefined;
  #open: string | undefined;
  #hasBegun = false;

  /** Sets id, time and model of the response. Only a first call before all chunks has an effect. */
  begin(head: CompletionHead): void {
    this.#head ??= head;
  }

  /**
   * Puts a first chunk before the first ones, as OpenAI does: accumulators make an empty text of it
   * rather than null, and openai-node's counts log probabilities of a first chunk twice.
   */
  begun(events: readonly string[]): readonly string[] {
    if (this.#hasBegun || this.#open === undefined) return events;
    this.#hasBegun = true;
    return [this.#chunk('"role":"assistant","content":""', 'null', 'null', ''), ...events];
  }

  /** A chunk with content. All arguments are JSON. */
  content(text: string, padding: string, logprobs = 'null'): string {
    return this.#chunk(`"content":${text}`, logprobs, 'null', padding);
  }

  /** A chunk with reasoning, which is given as JSON. */
  reasoning(text: string, padding: string): string {
    return this.#chunk(`"reasoning_content":${text}`, 'null', 'null', padding);
  }

  /** A chunk with a piece of a function's arguments or a custom tool's input, given as JSON. */
  callInput(call: number, type: 'function' | 'custom', text: string, padding: string): string {
    const called = type === 'function' ? `"function":{"arguments":${text}}` : `"custom":{"input":${text}}`;
    return this.#chunk(`"tool_calls":[{"index":${call},${called}}]`, 'null', 'null', padding);
  }

  delta(delta: JsonObject, padding = ''): string {
    return this.#chunk(JSON.stringify(delta).slice(1, -1), 'null', 'null', padding);
  }

  /** The last chunk with a choice. */
  finish(reason: string, more: JsonObject): string {
    return withMembers(this.#chunk('', 'null', JSON.stringify(reason), ''), more);
  }

  /** The chunk without choices. */
  usage(usage: JsonObject, more: JsonObject): string {
    return withMembers(`${this.#prefix()}"choices":[]}`, { usage, ...more });
  }

  #chunk(members: string, logprobs: string, reason: string, padding: string): string {
    const open = this.#open ?? this.#prepared();
    return `${open}${members}},"logprobs":${logprobs},"finish_reason":${reason}}]${padding}}`;
  }

  #prepared(): string {
    this.#open = `${this.#prefix()}"choices":[{"index":0,"delta":{`;
    return this.#open;
  }

  #prefix(): string {
    this.#head ??= headOf({});
    const { id, created, model } = this.#head;
    return `{"id":${JSON.stringify(id)},"object":"chat.completion.chunk","created":${created},"model":${JSON.stringify(model)},`;
  }
}

function withMembers(chunk: string, members: JsonObject): string {
  const more = JSON.stringify(members).slice(1, -1);
  return more === '' ? chunk : `${chunk.slice(0, -1)},${more}}`;
}

/** The padding of an event, as a member for its chunk. Empty if it has none. */
export function paddingOf({ obfuscation }: JsonObject): string {
  return typeof obfuscation === 'string' ? paddingWith(JSON.stringify(obfuscation)) : '';
}

export function paddingWith(text: string): string {
  return `,"obfuscation":${text}`;
}
