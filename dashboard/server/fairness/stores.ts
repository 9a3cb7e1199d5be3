import type pg from 'pg';
import { createPool, type StoreLog } from '#database/connection/connection-pool.ts';
import { TURN_LIMITS } from './dashboard-turns.ts';

/** A pool of the dashboard's own, so that its long reads do not delay the gateway. */
export type Database = pg.Pool;

/** A slower statement is a defect; the reader gets an error. */
const STATEMENT_MS = 8_000;
const CONNECT_MS = 2_000;
/** Sessions and sign-ins need only short statements. */
const ENTRY_CONNECTIONS = 3;
const BACKGROUND_CONNECTIONS = 2;
const ENTRY_STATEMENT_MS = 3_000;

export function openDatabase(url: string, log: StoreLog): Database {
  return createPool(url, TURN_LIMITS.atOnce, { connectMs: CONNECT_MS, statementMs: STATEMENT_MS }, log, {
    plans: 'by_values',
  });
}

/** Alerts take no connection from users. */
export function openBackground(url: string, log: StoreLog): Database {
  return createPool(url, BACKGROUND_CONNECTIONS, { connectMs: CONNECT_MS, statementMs: STATEMENT_MS }, log, {
    plans: 'by_values',
  });
}

export function openEntry(url: string, log: StoreLog): Database {
  return createPool(url, ENTRY_CONNECTIONS, { connectMs: CONNECT_MS, statementMs: ENTRY_STATEMENT_MS }, log, {
    plans: 'by_values',
  });
}
