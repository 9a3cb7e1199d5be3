/**
 * Two numbers (docs/design.md, "Delivery"). The context window and tpm are checked with the
 * estimate. The ceiling is held, and is never below the true count.
 */
export interface TokenBounds {
  readonly estimate: number;
  readonly ceiling: number;
}

export interface InputTokens extends TokenBounds {
  /** The ceiling if the tokenizer may normalize text (NFC, NFKC), which can make it longer. */
  readonly normalizedCeiling: number;
  /** Part of both numbers for everything but plain text: frames of messages, tools, images. */
  readonly besidesText: TokenBounds;
  /** Ceiling of the images alone. Absent: there are none. */
  readonly imageCeiling?: number;
  /**
   * Ceiling of a prompt with files: the longest prompt that the provider reads. It is set when the
   * model is chosen. The ceilings above include it.
   */
  readonly fileCeiling?: number;
  /** Present for embeddings: each input is a prompt of its own, and there is no output. */
  readonly inputs?: EmbeddedInputs;
  /** True if text was counted with the model's tokenizer. */
  readonly isCounted?: true;
}

export interface EmbeddedInputs {
  readonly count: number;
  /** Estimate of the longest one, in tokens. */
  readonly longest: number;
  /** Tokens of inputs that came as tokens. They are exact, and are not in any text. */
  readonly givenTokens: number;
}

/** Tokens that a prompt has in addition to those of the client's request. */
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
