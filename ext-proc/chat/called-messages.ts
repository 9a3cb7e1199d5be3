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
  /** Digest of what the model heard last before it, '' for nothing. */
  readonly heard: string;
}

/** Pieces of a PromptRecord: those of one message. */
export interface Heard {
  readonly firstPiece: number;
  readonly endPiece: number;
}

/** An assistant message with tool calls that lacks reasoning in at least one member. */
interface Calling {
  readonly message: number;
  readonly toolCalls: Span;
  readonly heard: Heard | undefined;
  readonly lacksDetails: boolean;
  /**
   * Where a missing `reasoning_content` belongs: an empty span, or the span of a value without a
   * text.
   */
  readonly contentPlace: Span | undefined;
}

interface LackingMessage extends Pick<Calling, 'message' | 'toolCalls' | 'heard'>, Pick<CalledMessage, 'lacks'> {}

/** Messages before the newest ones are not looked up. */
const MOST_MESSAGES = 512;

/** Assistant messages that have called tools and do not say with what reasoning. */
export class CalledMessages {
  readonly #messages: Calling[] = [];
  #sinceUser = 0;
  #heard: Heard | undefined;

  /** The last message of a user or a tool. */
  get heard(): Heard | undefined {
    return this.#heard;
  }

  add(message: Omit<Calling, 'heard'>): void {
    const { heard } = this;
    if (message.lacksDetails || message.contentPlace !== undefined) this.#messages.push({ ...message, heard });
  }

  /** The model hears a tool, or the user. */
  hears(heard: Heard, isUser: boolean): void {
    if (isUser) this.#sinceUser = this.#messages.length;
    this.#heard = heard;
  }

  /**
   * Messages that providers want one of these members of. Details are read in the messages since
   * the last one of the user alone. Providers of chat completions refuse any message without its
   * content.
   */
  lacking(members: ReadonlySet<ReasoningMember>): readonly LackingMessage[] {
    const called: LackingMessage[] = [];
    for (let at = this.#messages.length - 1; at >= 0 && called.length < MOST_MESSAGES; at--) {
      const calling = this.#messages[at] as Calling;
      const { lacksDetails, contentPlace } = calling;
      const isLacking = {
        reasoning_content: contentPlace !== undefined,
        reasoning_details: lacksDetails && at >= this.#sinceUser,
      };
      const lacks = [...members].filter((member) => isLacking[member]);
      if (lacks.length > 0) called.push({ ...calling, lacks });
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
