import { parentPort } from 'node:worker_threads';
import type { ThreadInTurns } from '../../fairness/thread-in-turns.ts';
import { type TranslatedBody, type TranslationJob, translateBody } from './translate-body.ts';

/** Translates large bodies in a worker thread. */
export type TranslationThread = ThreadInTurns<TranslationJob, TranslatedBody>;

parentPort?.on('message', (job: TranslationJob) => {
  const result = translateBody(job);
  const moved = result.kind === 'body' ? [result.bytes.buffer as ArrayBuffer] : [];
  parentPort?.postMessage(result, moved);
});
