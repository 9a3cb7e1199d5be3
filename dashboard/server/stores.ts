import type pg from 'pg';
import { createPool, type StoreLog } from '../../ext-proc/stores/postgres/connection-pool.ts';

/** The dashboard's own connections: its long reads keep no request of the gateway waiting. */
export type Database = pg.Pool;

const CONNECTIONS = 6;
/** A page that takes longer is a defect; the reader gets an answer either way. */
const STATEMENT_MS = 8_000;
const CONNECT_MS = 2_000;

export function openDatabase(url: string, log: StoreLog): Database {
  return createPool(url, CONNECTIONS, { connectMs: CONNECT_MS, statementMs: STATEMENT_MS }, log, {
    plans: 'by_values',
  });
}
