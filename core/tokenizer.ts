/** An encoding of tiktoken that can count a prompt. */
export type Tokenizer = 'o200k_base' | 'cl100k_base';

/** Upper bounds of the texts' tokens, exact to 0.4 %. `undefined`: not in time. Never rejects. */
export type BoundTokens = (
  tokenizer: Tokenizer,
  texts: readonly string[],
  organizationId: string,
) => Promise<readonly number[] | undefined>;

/** Tokens of each text, in order. Never rejects: texts are estimated if counting is too slow. */
export type CountTokens = (texts: readonly string[]) => Promise<readonly number[]>;

/** Estimated tokens of a text, without waiting. */
export type EstimateTokens = (text: string) => number;
