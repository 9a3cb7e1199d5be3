/** An encoding of tiktoken's, with which a prompt can be counted. */
export type Tokenizer = 'o200k_base' | 'cl100k_base';

/** Never fewer tokens than the texts are for that tokenizer, to 0.4 %. `undefined`: they could not be counted in time. Never rejects. */
export type BoundTokens = (tokenizer: Tokenizer, texts: readonly string[]) => Promise<number | undefined>;
