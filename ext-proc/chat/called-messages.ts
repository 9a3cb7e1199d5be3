import type { ContentPlace } from './edited-messages.ts';
import type { Span } from './json/json-cursor.ts';

/**
 * The member of an assistant message in which a client sends reasoning back: entries for providers
 * with another API, the text for a provider of chat completions, or the members of its tool calls.
 */
export type ReasoningMember = 'reasoning_details' | 'reasoning_content' | 'extra_content';

/** The `tool_calls` of an assistant message, as JSON. */
export interface CalledMessage {
  /** Index among the messages. */
  readonly message: number;
  readonly toolCalls: Buffer;
  /** The requested members that the message lacks, or of which it lacks the beginning. */
  readonly lacks: readonly ReasoningMember[];
  /** The `reasoning_details` that lack their beginning, as JSON. */
  readonly details?: Buffer;
  /** Digest of the last message of a user or a tool before it. '' if there is none. */
  readonly heard: string;
}

/** A message of a user or a tool, as a range of pieces of the PromptRecord. */
export interface Heard {
  readonly firstPiece: number;
  readonly endPiece: number;
}

/** An assistant message with tool calls that lacks reasoning in at least one member. */
interface Calling {
  readonly message: number;
  readonly toolCalls: Span;
  readonly heard: Heard | undefined;
  /** A span: they are there, but lack their beginning. */
  readonly lacksDetails: boolean | Span;
  /** True if no call has `extra_content`. Of parallel calls Gemini signs only the first. */
  readonly lacksExtraContent: boolean;
  /** Where a missing `reasoning_content` belongs: an empty span, or a value without text. */
  readonly contentPlace: Span | undefined;
}

interface LackingMessage
  extends Pick<Calling, 'message' | 'toolCalls' | 'heard' | 'lacksDetails'>,
    Pick<CalledMessage, 'lacks'> {}

/** Only so many of the newest messages are looked up. */
const MOST_MESSAGES = 512;

/** Assistant messages with tool calls that lack their reasoning. */
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
    if (message.lacksDetails !== false || message.lacksExtraContent || message.contentPlace !== undefined)
      this.#messages.push({ ...message, heard });
  }

  /** Notes a message of a user or a tool. */
  hears(heard: Heard, isUser: boolean): void {
    if (isUser) this.#sinceUser = this.#messages.length;
    this.#heard = heard;
  }

  /**
   * Messages that lack one of these members. `reasoning_details` are only read in messages after
   * the user's last one. The other members are required in all messages by providers that expect
   * them, or make them better.
   */
  lacking(members: ReadonlySet<ReasoningMember>): readonly LackingMessage[] {
    const called: LackingMessage[] = [];
    for (let at = this.#messages.length - 1; at >= 0 && called.length < MOST_MESSAGES; at--) {
      const calling = this.#messages[at] as Calling;
      const { lacksDetails, lacksExtraContent, contentPlace } = calling;
      const isLacking = {
        reasoning_content: contentPlace !== undefined,
        reasoning_details: lacksDetails !== false && at >= this.#sinceUser,
        extra_content: lacksExtraContent,
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

  /** The tool calls of these messages, as their places in the body, in order. */
  callsOf(messages: ReadonlyMap<number, unknown>): readonly ContentPlace[] {
    return this.#messages.flatMap(({ message, toolCalls }) =>
      messages.has(message) ? [{ message, ...toolCalls }] : [],
    );
  }
}
