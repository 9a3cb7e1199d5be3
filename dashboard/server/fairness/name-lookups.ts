import type { LookupAddress } from 'node:dns';
import dns from 'node:dns/promises';
import { createWorkQueue } from './work-queue.ts';

type Resolve = (host: string) => Promise<LookupAddress[]>;

/** Names resolved at once. Each occupies a thread until name servers respond (thread-pool.ts). */
export const MAX_LOOKUPS = 2;

const resolveAll: Resolve = (host) => dns.lookup(host, { all: true, order: 'verbatim' });

/**
 * Resolves at most MAX_LOOKUPS names at once, in the order of arrival. Rejects when `signal`
 * aborts. A lookup that is still waiting then is not made.
 */
export function lookupsInTurn(
  resolve: Resolve = resolveAll,
): (host: string, signal: AbortSignal) => Promise<LookupAddress[]> {
  const turn = createWorkQueue({ atOnce: MAX_LOOKUPS, maxWaiting: Number.POSITIVE_INFINITY });
  return async (host, signal) => {
    signal.throwIfAborted();
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    const lookup = turn('stranger', async () => {
      signal.throwIfAborted();
      return resolve(host);
    });
    const found = await Promise.race([lookup, aborted]);
    // Cannot be `busy`, because the queue is never full.
    return found === 'busy' ? [] : found;
  };
}
