import type pg from 'pg';
import { StoreUnavailable } from '../../core/store-unavailable.ts';
import { run, type Statement } from '../connection/connection-pool.ts';
import type { FenceRow } from './shard-fences.ts';

const READ: Statement = { name: 'read_fences', text: 'select store_fences from ledger_state' };
const REPLACE: Statement = {
  name: 'replace_fences',
  text: 'update ledger_state set store_fences = $2 where store_fences = $1 returning store_fences',
};

/**
 * The fences of the store that processes share, in the row that every request reads. Its methods
 * reject with StoreUnavailable.
 */
export function createFenceRow(pool: pg.Pool): FenceRow {
  return {
    async replace(from, to) {
      return (await run(pool, REPLACE, [from, to])).length === 1;
    },
    async read() {
      const [row] = await run<{ store_fences: string }>(pool, READ, []);
      if (row === undefined) throw new StoreUnavailable('the database has lost its ledger_state');
      return row.store_fences;
    },
  };
}
