/**
 * Two numbers (docs/design.md, "Delivery"). The estimate counts against context window and tpm. The
 * ceiling is held, and is never below the true count.
 */
export interface TokenBounds {
  readonly estimate: number;
  readonly ceiling: number;
}

export interface InputTokens extends TokenBounds {
  /**
   * The ceiling where the tokenizer may normalize text first (NFC, NFKC), which can make it longer.
   */
  readonly normalizedCeiling: number;
  /** Part of both numbers for everything but plain text: frames of messages, tools, images. */
  readonly besidesText: TokenBounds;
  /** Ceiling of the images alone. Absent: there are none. */
  readonly imageCeiling?: number;
  /**
   * Ceiling of a prompt with files: the longest that the provider reads, once the model is chosen.
   * It is in the ceilings above.
   */
  readonly fileCeiling?: number;
  /** Present: each input stands alone (embeddings), and there is no output. */
  readonly inputs?: EmbeddedInputs;
  /** Text was counted with the model's tokenizer. */
  readonly isCounted?: true;
}

export interface EmbeddedInputs {
  readonly count: number;
  /** Estimate of the longest one, in tokens. */
  readonly longest: number;
  /** Tokens of those that came as tokens. They are exact, and no text has them. */
  readonly givenTokens: number;
}

/** Tokens of what stands in a prompt beside what its request has. */
export type AddedTokens = Pick<InputTokens, 'estimate' | 'ceiling' | 'normalizedCeiling'>;

export function together(sent: InputTokens, added: AddedTokens): InputTokens {
  return {
    ...sent,
    estimate: sent.estimate + added.estimate,
    ceiling: sent.ceiling + added.ceiling,
    normalizedCeiling: sent.normalizedCeiling + added.normalizedCeiling,
    besidesText: {
      estimate: sent.besidesText.estimate + added.estimate,
      ceiling: sent.besidesText.ceiling + added.normalizedCeiling,
    },
  };
}
