import { Worker } from 'node:worker_threads';
import type { Log } from '#core/log/log.ts';
import type { BoundTokens, CountTokens, Tokenizer } from '#core/tokenizer.ts';
import type { CountJob, CountResult } from './count-tokens-worker.ts';
import { mostCuts } from './text-pieces.ts';

/**
 * Counts the tokens of responses without usage, and of prompts whose ceiling is too expensive: on
 * one thread, in the order of the calls. The first call starts the thread.
 */
export interface TokenCounter {
  /**
   * Never rejects: a text that cannot be counted in time is estimated, so that no charge waits or
   * is lost.
   */
  readonly countTokens: CountTokens;
  readonly boundTokens: BoundTokens;
  /**
   * Called when the process ends. Texts that are not counted after `delayMs` are estimated, so that
   * they can be charged.
   */
  estimateAfter(delayMs: number): void;
  close(): Promise<void>;
}

export interface TokenCounterOptions {
  readonly log: Log;
  /** Longest wait for one count. */
  readonly timeoutMs?: number;
  /** Bound on the text that waits. Beyond it texts are estimated at once. */
  readonly maxQueuedCharacters?: number;
  /** Bound on the text of prompts that waits. Beyond it prompts are not counted. */
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

export function createTokenCounter(options: TokenCounterOptions): TokenCounter {
  const { log, timeoutMs = TIMEOUT_MS, maxQueuedCharacters = MAX_QUEUED_CHARACTERS } = options;
  const { maxPromptCharacters = MAX_PROMPT_CHARACTERS } = options;
  const pending = new Map<number, PendingJob>();
  let queuedCharacters = 0;
  let promptCharacters = 0;
  let nextId = 0;
  let worker: Worker | undefined;
  let closed = false;

  function finish(id: number, counts?: readonly number[]): void {
    const job = pending.get(id);
    if (job === undefined) return;
    pending.delete(id);
    clearTimeout(job.timer);
    queuedCharacters -= job.characters;
    job.resolve(counts);
  }

  function start(): Worker {
    const started = new Worker(new URL('./count-tokens-worker.ts', import.meta.url), { resourceLimits });
    started.unref();
    started.on('message', ({ id, counts }: CountResult) => finish(id, counts));
    started.on('error', (error) => {
      log.error({ err: error }, 'the token counter failed: what it was asked is not counted');
      if (worker !== started) return;
      worker = undefined;
      for (const id of [...pending.keys()]) finish(id);
    });
    return started;
  }

  function post(id: number, { tokenizer, texts }: Pick<PendingJob, 'tokenizer' | 'texts'>): void {
    worker ??= start();
    worker.postMessage({ id, tokenizer, texts } satisfies CountJob);
  }

  function tooSlow(id: number): void {
    log.warn({ characters: pending.get(id)?.characters }, 'tokens could not be counted in time');
    const [first] = pending.keys();
    finish(id);
    if (id !== first) return;
    // The thread is at this text. A new thread counts the others.
    void worker?.terminate();
    worker = undefined;
    for (const [otherId, job] of pending) post(otherId, job);
  }

  /** `undefined`: it could not be counted in time. */
  async function count(tokenizer: Tokenizer, texts: readonly string[]): Promise<readonly number[] | undefined> {
    const characters = lengthOf(texts);
    if (characters === 0) return texts.map(() => 0);
    if (closed || queuedCharacters + characters > maxQueuedCharacters) {
      log.warn({ characters }, 'too much text waits for the token counter');
      return undefined;
    }
    const id = nextId++;
    return new Promise((resolve) => {
      queuedCharacters += characters;
      const timer = setTimeout(() => tooSlow(id), timeoutMs);
      pending.set(id, { tokenizer, texts, characters, resolve, timer });
      post(id, { tokenizer, texts });
    });
  }

  function estimateFromNow(): void {
    closed = true;
    for (const id of [...pending.keys()]) finish(id);
  }

  return {
    countTokens: async (texts) => (await count('o200k_base', texts)) ?? texts.map(estimateTokens),
    async boundTokens(tokenizer, texts) {
      const characters = lengthOf(texts);
      if (promptCharacters + characters > maxPromptCharacters) return undefined;
      promptCharacters += characters;
      const counts = await count(tokenizer, texts);
      promptCharacters -= characters;
      return counts && counts.reduce((sum, tokens) => sum + tokens, 0) + mostCuts(characters);
    },
    estimateAfter: (delayMs) => void setTimeout(estimateFromNow, delayMs).unref(),
    async close() {
      estimateFromNow();
      await worker?.terminate();
    },
  };
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}

/**
 * Four bytes to a token: near the truth for English, German and code, above it for Cyrillic, a
 * little below for Chinese.
 */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}
