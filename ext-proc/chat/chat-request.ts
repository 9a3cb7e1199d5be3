import type { RequestShaping } from '#core/config/gateway-config.ts';
import type { Steps } from '../fairness/steps.ts';
import type { CalledMessage, ReasoningMember } from './called-messages.ts';
import type { ChatFacts } from './chat-facts.ts';
import type { InputTokens } from './tokens/input-tokens.ts';

/**
 * A chat completion request after parsing and validation. The rest of the gateway decides by these
 * facts. The client's bytes leave the gateway only through `encodeFor`, or through the door that
 * passes its own body on.
 */
export interface ChatRequest extends Readonly<Omit<ChatFacts, FactsForEncoding>> {
  readonly model: string;
  readonly hasRemoteImages: boolean;
  /** Place of the first remote image, as an error's `param`. */
  readonly remoteImageParam?: string;
  /** True with images or files, whose tokens only a provider can count. */
  readonly hasMedia: boolean;
  /** Fields beside the official ones, which only some targets accept. */
  readonly extraFields?: readonly string[];
  /** End user, as the client named it, without API keys. Never written to the process log. */
  readonly user?: string;
  /** `user` and similar fields, as the client named end users. Providers get hashes of them. */
  readonly identities: ReadonlyMap<string, string>;
  readonly inputTokens: InputTokens;
  /** Estimates without samples, so all processes get the same. Takes 2 to 3 ms for a MiB. */
  wholeEstimate(): Steps<number>;
  /**
   * All text of the prompt, for counting when the provider reports no usage: one text, or each
   * input of an embeddings request. Each call reads the whole body. Never logged.
   */
  promptText(): readonly string[];
  /** Plain texts of the prompt, for counting. `inputTokens.besidesText`: the rest. Never logged. */
  promptTexts(): readonly string[];
  /** Assistant messages with tool calls and without `reasoning_content`. */
  readonly messagesWithoutReasoning: number;
  /** Assistant messages with tool calls that lack one of these members. */
  calledMessages(members: ReadonlySet<ReasoningMember>): readonly CalledMessage[];
  /** Digest of the last message of a user or a tool, as in `CalledMessage.heard`. */
  lastHeard(): string;
  /** The client's body with another model, output limit, usage request and identities. */
  encodeFor(provider: ProviderFields): readonly Buffer[];
  /**
   * Frees the body, which can no longer be sent then. Afterwards only `promptText` works, with the
   * beginning of the text, about `mostBytes` at most. Returns the bytes that are kept. With 0 the
   * memory is freed at once, so no write of it may be in progress.
   */
  keepText(mostBytes: number): number;
  /** Estimate of the tokens that `promptText` lacks since `keepText`. */
  tokensOmitted(): number;
  /** Part of the estimate that was not sent to the target that was called last. */
  unsentTokens(): number;
}

/** Facts that the request does not show, or shows in another form. */
type FactsForEncoding = 'identities' | 'extraFields' | 'otherStreamOptions' | 'edits' | 'prompt' | 'called';

/** The member of messages that lack it, as JSON by index. */
export interface SentReasoning {
  /**
   * Other messages with tool calls get a space as `reasoning_content`. `extra_content` is a list
   * with the member of each call, or null.
   */
  readonly member: Exclude<ReasoningMember, 'reasoning_details'>;
  readonly kept: ReadonlyMap<number, Buffer>;
}

export interface ProviderFields {
  readonly model: string;
  readonly outputLimitField: string;
  /** Absent: there is no output. */
  readonly outputLimit?: number | undefined;
  /** False: `stream_options` is never sent. */
  readonly streamOptions?: false | undefined;
  /** Changes of the members, in this order. Absent: none. */
  readonly shaping?: readonly RequestShaping[] | undefined;
  /** Absent: the messages are sent unchanged. */
  readonly reasoning?: SentReasoning | undefined;
  /** Replaces the value of a field that names an end user (delivery/provider/identities.ts). */
  identify(field: string, value: string): string;
}
