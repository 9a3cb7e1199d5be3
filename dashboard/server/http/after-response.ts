import type { Log } from '#core/log/log.ts';
import type { AppContext } from './responses.ts';

/** Work of responses that have ended. */
const MOST_UNDONE = 100;
const undone = new Set<Promise<void>>();

/**
 * Does the work when the response has ended, so that its time says nothing of the work. Resolves at
 * once, unless very much is undone: then the response waits for it.
 */
export async function afterResponse(
  { env: { outgoing } }: AppContext,
  log: Log,
  work: () => Promise<void>,
): Promise<void> {
  const waits = undone.size >= MOST_UNDONE;
  const ended = new Promise<void>((resolve) => {
    if (waits || outgoing.closed) resolve();
    else outgoing.once('close', resolve);
  });
  const done = ended
    .then(work)
    .catch((error: unknown) => log.error({ err: error }, 'work after a response failed'))
    .finally(() => undone.delete(done));
  undone.add(done);
  if (waits) await done;
}

/** Resolves when all of it is done. Called when no response is under way any more. */
export async function responsesDone(): Promise<void> {
  await Promise.all(undone);
}
