import type { Log } from '#core/log/log.ts';
import type { AppContext } from './responses.ts';

/** Bound of pending work after responses. */
const MOST_UNDONE = 100;
const undone = new Set<Promise<void>>();

/**
 * Does the work after the response has ended, so that the response time does not reveal the work.
 * Resolves immediately, unless too much work is pending. Then the response waits for the work.
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

/** Resolves when all pending work is done. Called when no response is in progress any more. */
export async function responsesDone(): Promise<void> {
  await Promise.all(undone);
}
