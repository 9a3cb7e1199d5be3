import { parentPort } from 'node:worker_threads';
import type { Tokenizer } from '#core/tokenizer.ts';
import { piecesOf } from './text-pieces.ts';

/** Counts tokens in a thread: the tokenizer holds 75 MB and takes ms for a long response. */
export interface CountJob {
  readonly tokenizer: Tokenizer;
  readonly texts: readonly string[];
}

/** Each is loaded when it is first needed, and again by a thread that replaces this one. */
const ENCODINGS = {
  o200k_base: () => import('gpt-tokenizer/encoding/o200k_base'),
  cl100k_base: () => import('gpt-tokenizer/encoding/cl100k_base'),
};

/** Text that looks like a special token is counted as plain text. */
const PLAIN = { disallowedSpecial: new Set<string>() };

async function countAll({ tokenizer, texts }: CountJob): Promise<readonly number[]> {
  const { countTokens, setMergeCacheSize } = await ENCODINGS[tokenizer]();
  // The cache would keep pieces of prompts and responses (docs/design.md, "Invariants", 9).
  setMergeCacheSize(0);
  return texts.map((text) => {
    let tokens = 0;
    for (const piece of piecesOf(text)) tokens += countTokens(piece, PLAIN);
    return tokens;
  });
}

parentPort?.on('message', async (job: CountJob) => parentPort?.postMessage(await countAll(job)));
