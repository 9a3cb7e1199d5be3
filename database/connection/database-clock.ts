import { type Connection, only, sql } from './connection-pool.ts';
import { milliseconds } from './milliseconds.ts';

const NOW = sql('database_clock')`select ${milliseconds('clock_timestamp()')} as "nowMs"`;

/**
 * PostgreSQL's clock. What is written or deleted for good takes it, or the earlier of the two
 * clocks, because the clock of one process may be far ahead.
 */
export async function databaseClock(connection: Connection): Promise<number> {
  return (await only<{ nowMs: number }>(connection, NOW, [])).nowMs;
}
