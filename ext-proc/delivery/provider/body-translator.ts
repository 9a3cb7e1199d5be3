import { bytesOf } from '../../fairness/bytes-of.ts';
import { ThreadInTurns } from '../../fairness/thread-in-turns.ts';
import { type TranslatedBody, type TranslationJob, translateBody } from './translate-body.ts';
import type { TranslationThread } from './translate-body-worker.ts';

/** Bodies up to this size block the event loop for 0.3 ms, or 30 ms if they are small numbers. */
const AT_ONCE_BYTES = 64 * 1024;

/** Translates bodies into other APIs: small ones at once, large ones in a thread. */
export class BodyTranslator {
  readonly #thread: TranslationThread = new ThreadInTurns(new URL('./translate-body-worker.ts', import.meta.url));

  /** `undefined`: the thread took too long or broke. */
  translate(
    pieces: readonly Buffer[],
    job: Omit<TranslationJob, 'bytes'>,
    organizationId: string,
  ): Promise<TranslatedBody | undefined> | TranslatedBody {
    const length = bytesOf(pieces);
    if (length <= AT_ONCE_BYTES) return translateBody({ ...job, bytes: Buffer.concat(pieces, length) });
    return this.#thread.run(organizationId, () => {
      // Buffers of this size share no memory with others.
      const bytes = Buffer.concat(pieces, length);
      return { job: { ...job, bytes }, transfer: [bytes.buffer as ArrayBuffer] };
    });
  }

  close(): void {
    this.#thread.close();
  }
}
