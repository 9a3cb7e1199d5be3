import { ThreadInTurns } from '../../fairness/thread-in-turns.ts';
import { FAILURES, type ProviderFailure } from '../provider/provider-failure.ts';
import { type ProviderResponse, type ResponseNames, readResponse } from './read-response.ts';
import type { ReadJob, ReadResult } from './read-response-worker.ts';

/** Responses up to this size are parsed on the event loop, in 5 ms of CPU. */
const AT_ONCE_BYTES = 1024 * 1024;

/** Parses whole JSON responses: small ones at once, large ones in a thread. */
export class ResponseReader {
  readonly #thread = new ThreadInTurns<ReadJob, ReadResult>(new URL('./read-response-worker.ts', import.meta.url));

  /** A buffer above `AT_ONCE_BYTES` is transferred to the thread. Do not use it afterwards. */
  read(bytes: Buffer, names: ResponseNames, organizationId: string): Promise<ReadResult> | ReadResult {
    if (bytes.length <= AT_ONCE_BYTES) return readResponse(bytes.toString(), names);
    return this.#readLarge(bytes as Buffer<ArrayBuffer>, names, organizationId);
  }

  async #readLarge(bytes: Buffer<ArrayBuffer>, names: ResponseNames, organizationId: string): Promise<ReadResult> {
    const result = await this.#thread.run(organizationId, () => ({ job: { bytes, names }, transfer: [bytes.buffer] }));
    return result === undefined ? FAILURES.tooLarge : ofThisThread(result);
  }

  close(): void {
    this.#thread.close();
  }
}

/** A Buffer arrives from another thread as a plain array. */
function ofThisThread(result: ReadResult): ProviderResponse | ProviderFailure {
  if (result.kind === 'failure' || typeof result.open === 'string') return result;
  const { buffer, byteOffset, length } = result.open;
  return { ...result, open: Buffer.from(buffer, byteOffset, length) };
}
