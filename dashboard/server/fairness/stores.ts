import type pg from 'pg';
import { createPool, type StoreLog } from '#database/connection/connection-pool.ts';
import { TURN_LIMITS } from './dashboard-turns.ts';

/** The dashboard's own pool, so that its long reads do not delay the gateway. */
export type Database = pg.Pool;

/** A slower statement is a defect. Its reader gets an error. */
const STATEMENT_MS = 8_000;
const CONNECT_MS = 2_000;
/** Sessions and sign-ins only need short statements. */
const ENTRY_CONNECTIONS = 3;
const BACKGROUND_CONNECTIONS = 2;
const ENTRY_STATEMENT_MS = 3_000;

export const openDatabase = opensPool(TURN_LIMITS.atOnce, STATEMENT_MS);
/** Alerts and payments have connections of their own, so that they do not take any from users. */
export const openBackground = opensPool(BACKGROUND_CONNECTIONS, STATEMENT_MS);
export const openEntry = opensPool(ENTRY_CONNECTIONS, ENTRY_STATEMENT_MS);

function opensPool(connections: number, statementMs: number) {
  return (url: string, log: StoreLog): Database =>
    createPool(url, connections, { connectMs: CONNECT_MS, statementMs }, log, { plans: 'by_values' });
}
