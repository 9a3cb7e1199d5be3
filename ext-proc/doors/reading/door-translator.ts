import { ThreadInTurns } from '../../fairness/thread-in-turns.ts';
import { type TranslationJob, translateRequest } from './translate-request.ts';
import type { TranslatedResult } from './translate-request-worker.ts';

/** The event loop translates a body up to this size, as it validates one (requests/complete.ts). */
const AT_ONCE_BYTES = 32 * 1024;

/** Translates bodies of requests into chat's form: small ones at once, large ones in a thread. */
export class DoorTranslator {
  readonly #thread = new ThreadInTurns<TranslationJob, TranslatedResult>(
    new URL('./translate-request-worker.ts', import.meta.url),
  );

  /** `undefined`: the thread took too long or broke. */
  translate(
    body: Buffer,
    job: Omit<TranslationJob, 'bytes'>,
    organizationId: string,
  ): Promise<TranslatedResult> | TranslatedResult {
    if (body.length <= AT_ONCE_BYTES) return translateRequest({ ...job, bytes: body });
    return this.#thread.run(organizationId, () => {
      // The client's body may yet be passed through.
      const bytes = new Uint8Array(body);
      return { job: { ...job, bytes }, transfer: [bytes.buffer] };
    });
  }

  close(): void {
    this.#thread.close();
  }
}
