import { parentPort } from 'node:worker_threads';
import type { InvalidField } from '../door.ts';
import { type TranslatedRequest, type TranslationJob, translateRequest } from './translate-request.ts';

export type TranslatedResult = TranslatedRequest | InvalidField | undefined;

parentPort?.on('message', (job: TranslationJob) => {
  const result = translateRequest(job);
  const { bytes, messages, tools } = result?.kind === 'translated' ? result : {};
  const arrays = [bytes, messages, tools].filter((array) => array !== undefined);
  parentPort?.postMessage(
    result,
    arrays.map(({ buffer }) => buffer as ArrayBuffer),
  );
});
