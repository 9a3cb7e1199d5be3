import type { Span } from './json/json-cursor.ts';

/** The `tool_calls` of an assistant message, as JSON. */
export interface CalledMessage {
  /** Index among the messages. */
  readonly message: number;
  readonly toolCalls: Buffer;
}

/** More steps of a loop are not looked at. */
const MOST_MESSAGES = 128;

/**
 * Assistant messages since the last message of the user that have called tools and do not say with
 * what reasoning. Providers read reasoning of these messages alone.
 */
export class ToolLoop {
  readonly #messages: (Span & { readonly message: number })[] = [];

  add(message: number, toolCalls: Span): void {
    this.#messages.push({ message, ...toolCalls });
    if (this.#messages.length > MOST_MESSAGES) this.#messages.shift();
  }

  /** The user has spoken. */
  end(): void {
    this.#messages.length = 0;
  }

  in(body: Buffer): readonly CalledMessage[] {
    return this.#messages.map(({ message, start, end }) => ({ message, toolCalls: body.subarray(start, end) }));
  }
}
