import type { EstimateTokens } from '#core/tokenizer.ts';
import type { ProducedText } from './produced-text.ts';

/** UTF-16 units (30 tokens) of new text at which it is estimated. Fewer take as much time. */
const LOOK_EVERY_CHARACTERS = 128;

/** Estimates the tokens that a model has produced so far. Ten calls a second are cheap. */
export class OutputEstimate {
  readonly #text: ProducedText;
  readonly #estimateTokens: EstimateTokens;
  #lookedTokens = 0;
  #lookedCharacters = 0;

  constructor(text: ProducedText, estimateTokens: EstimateTokens) {
    this.#text = text;
    this.#estimateTokens = estimateTokens;
  }

  tokens(): number {
    const { characters } = this.#text;
    const fresh = characters - this.#lookedCharacters;
    // A short piece is estimated with the tokens per character of the text before it.
    if (fresh < LOOK_EVERY_CHARACTERS && this.#lookedCharacters >= LOOK_EVERY_CHARACTERS)
      return Math.round(this.#lookedTokens * (characters / this.#lookedCharacters));
    const sample = this.#text.latest(fresh);
    const tokens = this.#lookedTokens + this.#estimateTokens(sample) * (fresh / Math.max(1, sample.length));
    if (fresh < LOOK_EVERY_CHARACTERS) return Math.round(tokens);
    this.#lookedTokens = tokens;
    this.#lookedCharacters = characters;
    return Math.round(tokens);
  }
}
