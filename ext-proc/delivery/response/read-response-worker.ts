import { parentPort } from 'node:worker_threads';
import { isObject } from '#core/json-object.ts';
import { type Completion, textOf } from '../../dialects/completion.ts';
import { FAILURES, type ProviderFailure } from '../provider/provider-failure.ts';
import { KEPT_CHARACTERS, type MeasuredText } from './produced-text.ts';
import { type ProviderResponse, type ResponseNames, readResponse } from './read-response.ts';

/** Reads large responses in a thread: 50 MB take 0.2 s of CPU, or 1 s with small values. */
export interface ReadJob {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly names: ResponseNames;
}

export type ReadResult = ProviderResponse | ProviderFailure;

/**
 * Most objects and arrays in a response. 64 MiB of logprobs have two million. More than this would
 * need gigabytes, and a full heap ends the process.
 */
const MOST_COMPOSITES = 4_000_000;

const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;

function read({ bytes, names }: ReadJob): ReadResult {
  if (hasTooMany(bytes)) return FAILURES.tooLarge;
  const { buffer, byteOffset, length } = bytes;
  const result = readResponse(Buffer.from(buffer, byteOffset, length).toString(), names);
  if (result.kind === 'failure') return result;
  return { ...result, ...withoutLongText(result.completion), open: Buffer.from(result.open) };
}

function hasTooMany(bytes: Uint8Array): boolean {
  let composites = 0;
  let isText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) isText = !isText;
    else if (isText && byte === BACKSLASH) at++;
    else if (!isText && (byte === OPEN_BRACE || byte === OPEN_BRACKET)) composites++;
  }
  return composites > MOST_COMPOSITES;
}

/** The parts that decide the charge: each choice's finish reason and the text that is kept. */
function withoutLongText(completion: Completion): Pick<ProviderResponse, 'completion'> & {
  measured: MeasuredText;
} {
  const { id, model, usage, service_tier, choices } = completion;
  let [bytes, characters] = [0, 0];
  const slim = choices.filter(isObject).map((choice) => {
    const text = textOf(choice);
    const rest = text.slice(KEPT_CHARACTERS);
    bytes += Buffer.byteLength(rest);
    characters += rest.length;
    return { index: choice.index, finish_reason: choice.finish_reason, text: text.slice(0, KEPT_CHARACTERS) };
  });
  return { completion: { id, model, usage, service_tier, choices: slim }, measured: { bytes, characters } };
}

parentPort?.on('message', (job: ReadJob) => {
  const result = read(job);
  const open = result.kind === 'response' && typeof result.open !== 'string' ? [result.open.buffer as ArrayBuffer] : [];
  parentPort?.postMessage(result, open);
});
