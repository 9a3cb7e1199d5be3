import type { ContentPlace } from './edited-messages.ts';
import type { Span } from './json/json-cursor.ts';

/**
 * The member of an assistant message that returns a model's reasoning: as it came from providers of
 * other APIs, or as the text of a provider of chat completions.
 */
export type ReasoningMember = 'reasoning_details' | 'reasoning_content';

/** The `tool_calls` of an assistant message, as JSON. */
export interface CalledMessage {
  /** Index among the messages. */
  readonly message: number;
  readonly toolCalls: Buffer;
  /** What of the members that were asked for it lacks. */
  readonly lacks: readonly ReasoningMember[];
}

/** An assistant message with tool calls that lacks reasoning in at least one member. */
interface Calling {
  readonly message: number;
  readonly toolCalls: Span;
  readonly lacksDetails: boolean;
  /**
   * Where a missing `reasoning_content` belongs: an empty span, or the span of a value without a
   * text.
   */
  readonly contentPlace: Span | undefined;
}

/** Messages before the newest ones are not looked up. */
const MOST_MESSAGES = 512;

/** Assistant messages that have called tools and do not say with what reasoning. */
export class CalledMessages {
  readonly #messages: Calling[] = [];
  #sinceUser = 0;

  add(message: Calling): void {
    if (message.lacksDetails || message.contentPlace !== undefined) this.#messages.push(message);
  }

  /** The user has spoken. */
  userSpeaks(): void {
    this.#sinceUser = this.#messages.length;
  }

  /**
   * Messages that providers want one of these members of. Details are read in the messages since
   * the last one of the user alone. Providers of chat completions refuse any message without its
   * content.
   */
  lacking(members: ReadonlySet<ReasoningMember>, body: Buffer): readonly CalledMessage[] {
    const called: CalledMessage[] = [];
    for (let at = this.#messages.length - 1; at >= 0 && called.length < MOST_MESSAGES; at--) {
      const { message, toolCalls, lacksDetails, contentPlace } = this.#messages[at] as Calling;
      const isLacking = {
        reasoning_content: contentPlace !== undefined,
        reasoning_details: lacksDetails && at >= this.#sinceUser,
      };
      const lacks = [...members].filter((member) => isLacking[member]);
      if (lacks.length > 0) called.push({ message, lacks, toolCalls: body.subarray(toolCalls.start, toolCalls.end) });
    }
    return called.reverse();
  }

  /** Every message without `reasoning_content`, and where it belongs in the body, in order. */
  contentPlaces(): readonly ContentPlace[] {
    return this.#messages.flatMap(({ message, contentPlace }) =>
      contentPlace === undefined ? [] : [{ message, ...contentPlace }],
    );
  }
}
