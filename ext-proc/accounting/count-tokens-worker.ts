import { parentPort } from 'node:worker_threads';
import { countTokens, setMergeCacheSize } from 'gpt-tokenizer/encoding/o200k_base';
import { piecesOf } from './text-pieces.ts';

/** Counts tokens beside the event loop: the tokenizer holds 75 MB and takes milliseconds for what one answer can be. */
export interface CountJob {
  readonly id: number;
  readonly texts: readonly string[];
}

export interface CountResult {
  readonly id: number;
  readonly counts: readonly number[];
}

// The cache would keep pieces of prompts and answers in memory (DESIGN invariant 9).
setMergeCacheSize(0);

/** Text that looks like a special token is text. */
const PLAIN = { disallowedSpecial: new Set<string>() };

function count(text: string): number {
  let tokens = 0;
  for (const piece of piecesOf(text)) tokens += countTokens(piece, PLAIN);
  return tokens;
}

parentPort?.on('message', ({ id, texts }: CountJob) => {
  parentPort?.postMessage({ id, counts: texts.map(count) } satisfies CountResult);
});
