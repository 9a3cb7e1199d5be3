import type { Steps } from '../shared-budget/steps.ts';
import type { InputTokens } from './tokens/input-tokens.ts';

/**
 * A chat completion request after parsing and validation: the facts the rest of the gateway decides
 * by. The client's own bytes stay untouched in `encodeFor`, which is the only way they leave the
 * gateway.
 */
export interface ChatRequest {
  readonly model: string;
  readonly stream: boolean;
  /** The client asked for the usage chunk (`stream_options.include_usage`). */
  readonly includeUsage: boolean;
  readonly completions: number;
  /** `max_tokens` or its alias; absent when the client gave none. */
  readonly maxTokens?: number;
  /** The name the client used for it. */
  readonly maxTokensParam?: string;
  readonly jsonFormat: boolean;
  readonly hasTools: boolean;
  readonly hasImages: boolean;
  readonly hasRemoteImages: boolean;
  /** Place of the first remote image, as an error's `param`. */
  readonly remoteImageParam?: string;
  readonly reasoningEffort?: string;
  readonly inputTokens: InputTokens;
  /** The estimate without samples, the same in every process. Takes 2 to 3 ms for a MiB. */
  wholeEstimate(): Steps<number>;
  /**
   * All text of the prompt, for counting when the provider sends no usage. Each call is a walk
   * through the body. Never logged.
   */
  promptText(): string;
  /**
   * The texts that a model reads as they are, for counting them: what `inputTokens` has besides
   * them is not in there. Never logged.
   */
  promptTexts(): readonly string[];
  /**
   * The body for a provider, in pieces: the client's, with model, output limit, usage request and
   * identities set, nothing else touched.
   */
  encodeFor(provider: ProviderFields): readonly Buffer[];
  /**
   * Frees the body when nothing is sent any more: but for `promptText` every walk throws then. Of
   * the text its beginning stays, about so many bytes at most. Returns how many.
   */
  keepText(mostBytes: number): number;
  /** About how many tokens of the prompt are not in `promptText` any more. */
  tokensLeftOut(): number;
}

export interface ProviderFields {
  readonly model: string;
  readonly outputLimitField: string;
  readonly outputLimit: number;
  /**
   * Replaces the value of a field that names a customer of the operator's customer
   * (provider/identities.ts).
   */
  identify(field: string, value: string): string;
}
