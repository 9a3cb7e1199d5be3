import { createShardFences, type ReadFences } from '#database/limits-ownership/shard-fences.ts';

/**
 * Fences for a Redis without a database. All processes of a test file share them.
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
