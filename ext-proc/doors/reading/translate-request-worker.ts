import { parentPort } from 'node:worker_threads';
import type { InvalidField } from '../door.ts';
import { type TranslatedRequest, type TranslationJob, transferOf, translateRequest } from './translate-request.ts';

export type TranslatedResult = TranslatedRequest | InvalidField | undefined;

parentPort?.on('message', (job: TranslationJob) => {
  const result = translateRequest(job);
  parentPort?.postMessage(result, transferOf(result));
});
