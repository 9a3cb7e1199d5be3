import { createShardFences, type ReadFences } from '#database/limits-ownership/shard-fences.ts';

/**
 * Fences of a Redis that no database belongs to: the processes of one test file share what they
 * raise.
 */
const row = { written: '0' };

export function localFences(): ReadFences {
  return createShardFences({
    async replace(from, to) {
      if (row.written !== from) return false;
      row.written = to;
      return true;
    },
    read: async () => row.written,
  });
}
