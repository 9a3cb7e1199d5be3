import type pg from 'pg';
import { createPool, type StoreLog } from '../../../database/connection/connection-pool.ts';
import { TURN_LIMITS } from './turns.ts';

/** Connections of the dashboard's own: its long reads keep no request of the gateway waiting. */
export type Database = pg.Pool;

/** A page that takes longer is a defect; the reader gets an answer either way. */
const STATEMENT_MS = 8_000;
const CONNECT_MS = 2_000;
/** Sessions and signing in: short statements all of them. */
const ENTRY_CONNECTIONS = 3;
const ENTRY_STATEMENT_MS = 3_000;

export function openDatabase(url: string, log: StoreLog): Database {
  return createPool(url, TURN_LIMITS.all, { connectMs: CONNECT_MS, statementMs: STATEMENT_MS }, log, {
    plans: 'by_values',
  });
}

export function openEntry(url: string, log: StoreLog): Database {
  return createPool(url, ENTRY_CONNECTIONS, { connectMs: CONNECT_MS, statementMs: ENTRY_STATEMENT_MS }, log, {
    plans: 'by_values',
  });
}
