import { Worker } from 'node:worker_threads';
import type { Log } from '#core/log/log.ts';
import type { BoundTokens, CountTokens, Tokenizer } from '#core/tokenizer.ts';
import type { CountJob, CountResult } from './count-tokens-worker.ts';
import { mostCuts } from './text-pieces.ts';

export interface TokenCounterOptions {
  readonly log: Log;
  /** Longest wait for one count. */
  readonly timeoutMs?: number;
  /** Most text that may wait. Beyond it texts are estimated at once. */
  readonly maxQueuedCharacters?: number;
  /** Most text of prompts that may wait. Beyond it prompts are not counted. */
  readonly maxPromptCharacters?: number;
}

interface PendingJob {
  readonly tokenizer: Tokenizer;
  readonly texts: readonly string[];
  readonly characters: number;
  readonly timer: NodeJS.Timeout;
  readonly resolve: (counts: readonly number[] | undefined) => void;
}

/** The tokenizer itself takes 75 MB. */
const resourceLimits = { maxOldGenerationSizeMb: 512 };
const TIMEOUT_MS = 10_000;
const MAX_QUEUED_CHARACTERS = 64 * 1024 * 1024;
/**
 * Two seconds of the thread at 1 us a character (English takes 0.13, Chinese 1.6: measured), so
 * that no charge waits longer for prompts.
 */
const MAX_PROMPT_CHARACTERS = 2 * 1024 * 1024;

/**
 * Counts the tokens of responses without usage, and of prompts whose ceiling is too expensive. One
 * thread counts in the order of the calls. The first call starts it.
 */
export class TokenCounter {
  readonly #log: Log;
  readonly #timeoutMs: number;
  readonly #maxQueuedCharacters: number;
  readonly #maxPromptCharacters: number;
  readonly #pending = new Map<number, PendingJob>();
  #queuedCharacters = 0;
  #promptCharacters = 0;
  #nextId = 0;
  #worker: Worker | undefined;
  #closed = false;

  constructor(options: TokenCounterOptions) {
    this.#log = options.log;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.#maxQueuedCharacters = options.maxQueuedCharacters ?? MAX_QUEUED_CHARACTERS;
    this.#maxPromptCharacters = options.maxPromptCharacters ?? MAX_PROMPT_CHARACTERS;
  }

  /** Never rejects: texts are estimated if counting fails or is slow, so no charge is lost. */
  readonly countTokens: CountTokens = async (texts) =>
    (await this.#count('o200k_base', texts)) ?? texts.map(fourBytesEach);

  readonly boundTokens: BoundTokens = async (tokenizer, texts) => {
    const characters = lengthOf(texts);
    if (this.#promptCharacters + characters > this.#maxPromptCharacters) return undefined;
    this.#promptCharacters += characters;
    const counts = await this.#count(tokenizer, texts);
    this.#promptCharacters -= characters;
    return counts?.map((tokens, index) => tokens + mostCuts(texts[index]?.length ?? 0));
  };

  /** Called at the end of the process. After `delayMs` uncounted texts are estimated. */
  estimateAfter(delayMs: number): void {
    setTimeout(() => this.#estimateFromNow(), delayMs).unref();
  }

  async close(): Promise<void> {
    this.#estimateFromNow();
    await this.#worker?.terminate();
  }

  /** `undefined`: the texts could not be counted in time. */
  async #count(tokenizer: Tokenizer, texts: readonly string[]): Promise<readonly number[] | undefined> {
    const characters = lengthOf(texts);
    if (characters === 0) return texts.map(() => 0);
    if (this.#closed || this.#queuedCharacters + characters > this.#maxQueuedCharacters) {
      this.#log.warn({ characters }, 'too much text waits for the token counter');
      return undefined;
    }
    const id = this.#nextId++;
    return new Promise((resolve) => {
      this.#queuedCharacters += characters;
      const timer = setTimeout(() => this.#giveUp(id), this.#timeoutMs);
      this.#pending.set(id, { tokenizer, texts, characters, resolve, timer });
      this.#post(id, tokenizer, texts);
    });
  }

  #post(id: number, tokenizer: Tokenizer, texts: readonly string[]): void {
    this.#worker ??= this.#startWorker();
    this.#worker.postMessage({ id, tokenizer, texts } satisfies CountJob);
  }

  #startWorker(): Worker {
    const worker = new Worker(new URL('./count-tokens-worker.ts', import.meta.url), { resourceLimits });
    worker.unref();
    worker.on('message', ({ id, counts }: CountResult) => this.#finish(id, counts));
    worker.on('error', (error) => {
      this.#log.error({ err: error }, 'the token counter failed: what it was asked is not counted');
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#finishAll();
    });
    return worker;
  }

  #giveUp(id: number): void {
    this.#log.warn({ characters: this.#pending.get(id)?.characters }, 'tokens could not be counted in time');
    const [first] = this.#pending.keys();
    this.#finish(id);
    if (id !== first) return;
    // The thread is counting this text. A new thread counts the others.
    void this.#worker?.terminate();
    this.#worker = undefined;
    for (const [otherId, { tokenizer, texts }] of this.#pending) this.#post(otherId, tokenizer, texts);
  }

  #finish(id: number, counts?: readonly number[]): void {
    const job = this.#pending.get(id);
    if (job === undefined) return;
    this.#pending.delete(id);
    clearTimeout(job.timer);
    this.#queuedCharacters -= job.characters;
    job.resolve(counts);
  }

  #finishAll(): void {
    for (const id of [...this.#pending.keys()]) this.#finish(id);
  }

  #estimateFromNow(): void {
    this.#closed = true;
    this.#finishAll();
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
