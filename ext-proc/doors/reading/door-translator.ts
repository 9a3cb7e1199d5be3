import { ThreadInTurns } from '../../fairness/thread-in-turns.ts';
import { type TranslationJob, translateRequest } from './translate-request.ts';
import type { TranslatedResult } from './translate-request-worker.ts';

/** Bodies up to this size are translated on the event loop, which also validates them. */
const AT_ONCE_BYTES = 32 * 1024;

/** Translates bodies of requests into chat's form: small ones at once, large ones in a thread. */
export class DoorTranslator {
  readonly #thread = new ThreadInTurns<TranslationJob, TranslatedResult>(
    new URL('./translate-request-worker.ts', import.meta.url),
  );

  /** `undefined`: the thread took too long or broke, or the client left meanwhile. */
  translate(
    body: Buffer,
    job: Omit<TranslationJob, 'bytes'>,
    { organizationId, isGone }: { readonly organizationId: string; readonly isGone: () => boolean },
  ): Promise<TranslatedResult> | TranslatedResult {
    if (body.length <= AT_ONCE_BYTES) return translateRequest({ ...job, bytes: body });
    const prepare = () => {
      // A copy is transferred, because the client's body may still be passed on.
      const bytes = new Uint8Array(body);
      return { job: { ...job, bytes }, transfer: [bytes.buffer] };
    };
    return this.#thread.run(organizationId, prepare, isGone);
  }

  close(): void {
    this.#thread.close();
  }
}
