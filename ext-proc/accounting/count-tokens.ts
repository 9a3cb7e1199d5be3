import { Worker } from 'node:worker_threads';
import type { CountTokens } from '../delivery/delivery.ts';
import type { Log } from '../telemetry/log.ts';
import type { CountJob, CountResult } from './count-tokens-worker.ts';

/** Counts the tokens of answers that came without a usage. Started when first needed; one thread, first come first served. */
export interface TokenCounter {
  /** Never rejects: what cannot be counted in time is estimated, so that no charge waits for it or is lost. */
  readonly countTokens: CountTokens;
  close(): Promise<void>;
}

export interface TokenCounterOptions {
  readonly log: Log;
  /** Longest wait for one count. */
  readonly timeoutMs?: number;
  /** Text in the queue; above it counts are estimated at once. */
  readonly maxQueuedCharacters?: number;
}

interface PendingJob {
  readonly texts: readonly string[];
  readonly characters: number;
  readonly timer: NodeJS.Timeout;
  readonly resolve: (counts: readonly number[]) => void;
}

/** The tokenizer itself takes 75 MB. */
const resourceLimits = { maxOldGenerationSizeMb: 512 };
const TIMEOUT_MS = 10_000;
const MAX_QUEUED_CHARACTERS = 64 * 1024 * 1024;

export function createTokenCounter(options: TokenCounterOptions): TokenCounter {
  const { log, timeoutMs = TIMEOUT_MS, maxQueuedCharacters = MAX_QUEUED_CHARACTERS } = options;
  const pending = new Map<number, PendingJob>();
  let queuedCharacters = 0;
  let nextId = 0;
  let worker: Worker | undefined;
  let closed = false;

  function finish(id: number, counts?: readonly number[]): void {
    const job = pending.get(id);
    if (job === undefined) return;
    pending.delete(id);
    clearTimeout(job.timer);
    queuedCharacters -= job.characters;
    job.resolve(counts ?? job.texts.map(estimateTokens));
  }

  function start(): Worker {
    const started = new Worker(new URL('./count-tokens-worker.ts', import.meta.url), { resourceLimits });
    started.unref();
    started.on('message', ({ id, counts }: CountResult) => finish(id, counts));
    started.on('error', (error) => {
      log.error({ err: error }, 'the token counter failed: estimating what it was asked');
      if (worker !== started) return;
      worker = undefined;
      for (const id of [...pending.keys()]) finish(id);
    });
    return started;
  }

  function post(id: number, texts: readonly string[]): void {
    worker ??= start();
    worker.postMessage({ id, texts } satisfies CountJob);
  }

  function tooSlow(id: number): void {
    log.warn({ characters: pending.get(id)?.characters }, 'tokens could not be counted in time: estimating them');
    const [first] = pending.keys();
    finish(id);
    if (id !== first) return;
    // The thread works on this one; a new thread takes the others up.
    void worker?.terminate();
    worker = undefined;
    for (const [otherId, { texts }] of pending) post(otherId, texts);
  }

  return {
    async countTokens(texts) {
      const characters = texts.reduce((sum, text) => sum + text.length, 0);
      if (characters === 0) return texts.map(() => 0);
      if (closed || queuedCharacters + characters > maxQueuedCharacters) {
        log.warn({ characters }, 'too much text waits for the token counter: estimating it');
        return texts.map(estimateTokens);
      }
      const id = nextId++;
      return new Promise((resolve) => {
        queuedCharacters += characters;
        pending.set(id, { texts, characters, resolve, timer: setTimeout(() => tooSlow(id), timeoutMs) });
        post(id, texts);
      });
    },
    async close() {
      closed = true;
      for (const id of [...pending.keys()]) finish(id);
      await worker?.terminate();
    },
  };
}

/** Four bytes to a token: near the truth for English, German and code, above it for Cyrillic, a little below for Chinese. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}
