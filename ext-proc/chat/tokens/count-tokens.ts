import type { Log } from '#core/log/log.ts';
import type { BoundTokens, CountTokens, Tokenizer } from '#core/tokenizer.ts';
import { FIRST, ThreadInTurns } from '../../fairness/thread-in-turns.ts';
import type { CountJob } from './count-tokens-worker.ts';
import { mostCuts } from './text-pieces.ts';

export interface TokenCounterOptions {
  readonly log: Log;
  /** Longest wait for one count. */
  readonly timeoutMs?: number;
  /** Most text that may wait. Beyond it texts are estimated at once. */
  readonly maxQueuedCharacters?: number;
  /** Most text of an organization's prompts that may wait. Beyond it they are not counted. */
  readonly maxPromptCharacters?: number;
}

/** The tokenizer itself takes 75 MB. */
const resourceLimits = { maxOldGenerationSizeMb: 512 };
const TIMEOUT_MS = 10_000;
const MAX_QUEUED_CHARACTERS = 64 * 1024 * 1024;
/**
 * Two seconds of the thread at 1 us a character (English takes 0.13, Chinese 1.6: measured). No
 * organization can keep the others' prompts from being counted.
 */
const MAX_PROMPT_CHARACTERS = 2 * 1024 * 1024;

/**
 * Counts the tokens of responses without usage, and of prompts whose ceiling is too expensive, in a
 * thread that the first call starts. Prompts take turns by organization. Responses come first, so
 * that their charges wait for one prompt at most.
 */
export class TokenCounter {
  readonly #log: Log;
  readonly #timeoutMs: number;
  readonly #maxQueuedCharacters: number;
  readonly #maxPromptCharacters: number;
  readonly #thread: ThreadInTurns<CountJob, readonly number[]>;
  #queuedCharacters = 0;
  /** By organization. */
  readonly #promptCharacters = new Map<string, number>();
  #closed = false;

  constructor(options: TokenCounterOptions) {
    const { log } = options;
    this.#log = log;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.#thread = new ThreadInTurns(new URL('./count-tokens-worker.ts', import.meta.url), {
      ...{ isKept: true, resourceLimits },
      onError: (error) => log.error({ err: error }, 'the token counter failed: a text is not counted'),
    });
    this.#maxQueuedCharacters = options.maxQueuedCharacters ?? MAX_QUEUED_CHARACTERS;
    this.#maxPromptCharacters = options.maxPromptCharacters ?? MAX_PROMPT_CHARACTERS;
  }

  /** Never rejects: texts are estimated if counting fails or is slow, so no charge is lost. */
  readonly countTokens: CountTokens = async (texts) =>
    (await this.#count('o200k_base', texts, FIRST)) ?? texts.map(fourBytesEach);

  readonly boundTokens: BoundTokens = async (tokenizer, texts, organizationId) => {
    const characters = lengthOf(texts);
    const waiting = this.#promptCharacters;
    const withThese = (waiting.get(organizationId) ?? 0) + characters;
    if (withThese > this.#maxPromptCharacters) return undefined;
    // The other half is for responses, which are charged.
    if (this.#queuedCharacters + characters > this.#maxQueuedCharacters / 2) return undefined;
    waiting.set(organizationId, withThese);
    const counts = await this.#count(tokenizer, texts, organizationId);
    const left = (waiting.get(organizationId) ?? 0) - characters;
    if (left > 0) waiting.set(organizationId, left);
    else waiting.delete(organizationId);
    return counts?.map((tokens, index) => tokens + mostCuts(texts[index]?.length ?? 0));
  };

  /** Called at the end of the process. After `delayMs` uncounted texts are estimated. */
  estimateAfter(delayMs: number): void {
    setTimeout(() => this.close(), delayMs).unref();
  }

  /** Texts that are not counted yet, or come later, are estimated. */
  close(): void {
    this.#closed = true;
    this.#thread.close();
  }

  /** `undefined`: the texts could not be counted in time. */
  async #count(
    tokenizer: Tokenizer,
    texts: readonly string[],
    organizationId: string,
  ): Promise<readonly number[] | undefined> {
    const characters = lengthOf(texts);
    if (characters === 0) return texts.map(() => 0);
    if (this.#closed || this.#queuedCharacters + characters > this.#maxQueuedCharacters) {
      this.#log.warn({ characters }, 'too much text waits for the token counter');
      return undefined;
    }
    this.#queuedCharacters += characters;
    let isLate = false;
    const isGone = () => isLate;
    const timer = setTimeout(() => {
      isLate = true;
      this.#thread.skip(organizationId, isGone);
    }, this.#timeoutMs);
    const prepare = () => ({ job: { tokenizer, texts }, transfer: [] });
    const counts = await this.#thread.run(organizationId, prepare, isGone);
    clearTimeout(timer);
    this.#queuedCharacters -= characters;
    if (isLate && counts === undefined) this.#log.warn({ characters }, 'tokens could not be counted in time');
    return counts;
  }
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}

/**
 * Stands in for a count that failed: one token for four bytes. About right for English, German and
 * code, too many tokens for Cyrillic, slightly too few for Chinese.
 */
export function fourBytesEach(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}
