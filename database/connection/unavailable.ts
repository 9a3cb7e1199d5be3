import pg from 'pg';
import { tlsProblem } from '../../core/net/tls-problem.ts';
import { StoreUnavailable } from '../../core/store-unavailable.ts';

/**
 * SQLSTATE classes that say something about the server and not about the statement: connection,
 * authorization, unknown database, transaction rollback, resources, operator intervention (time-out
 * and shutdown too), system error; 25006 is a standby, or a server that is set to read only, 55000
 * a database that is closed to new connections.
 */
const TRANSIENT = /^(08|28|3D|40|53|55000|55P03|57|58|25006)/;

/**
 * Turns what `pg` throws into StoreUnavailable where PostgreSQL is away; everything else is a bug
 * or a refused row and stays what it is.
 */
export function asStoreError(error: unknown): unknown {
  if (error instanceof pg.DatabaseError) {
    return TRANSIENT.test(error.code ?? '')
      ? new StoreUnavailable(`PostgreSQL cannot answer (${error.code})`, { cause: error })
      : error;
  }
  if (error instanceof TypeError || error instanceof RangeError || error instanceof StoreUnavailable) return error;
  const tls = tlsProblem(error);
  return new StoreUnavailable('PostgreSQL is not reachable', { cause: tls === undefined ? error : new Error(tls) });
}

/**
 * Deadlock or serialization failure: the same statement may succeed when it is tried again at once.
 */
export function isRollback(error: unknown): boolean {
  return (
    error instanceof StoreUnavailable &&
    error.cause instanceof pg.DatabaseError &&
    /^40(P01|001)$/.test(error.cause.code ?? '')
  );
}

/**
 * PostgreSQL refused a value or a row (data exception, constraint), so that the statement can never
 * succeed as it is.
 */
export function isRefusedRow(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(22|23)/.test(error.code ?? '');
}

/** The user lacks a right (roles.sql). */
export function isForbidden(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.code === '42501';
}

/** Another row has that key already. */
export function isTaken(error: unknown, constraint: string): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505' && error.constraint === constraint;
}

/** A sum left the range of its column. */
export function isOutOfRange(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '22003';
}
