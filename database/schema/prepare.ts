import type pg from 'pg';
import type { StoreLog } from '../connection/connection-pool.ts';
import { refuseTransactionPooler } from '../connection/transaction-pooler.ts';
import { keepMakingPartitions, makePartitions } from '../partitions/partitions.ts';
import { makeLogPartitions } from '../request-log/request-log-partitions.ts';
import { migrate } from './migrate.ts';

/**
 * Brings the schema up to date and creates partitions, now and ahead until the returned function is
 * called. Rejects with StoreUnavailable, SchemaMismatch if a newer release made the schema, or
 * TransactionPooler.
 */
export async function prepareDatabase(url: string, pool: pg.Pool, log: StoreLog): Promise<() => void> {
  await refuseTransactionPooler(url);
  const migrations = await migrate(pool);
  if (migrations.length > 0) log.info({ migrations }, 'the database schema was brought forward');
  await makePartitions(pool, Date.now(), log);
  await makeLogPartitions(pool, Date.now(), log);
  return keepMakingPartitions(pool, log);
}
