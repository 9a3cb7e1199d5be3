import pg from 'pg';
import { tlsProblem } from '#core/net/tls-problem.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';

/**
 * SQLSTATE classes of errors that concern the server instead of the statement: connection,
 * authorization, unknown database, transaction rollback, resources, operator intervention (timeout
 * and shutdown included), system error, internal error (a file that the server cannot write for a
 * new connection, or that is damaged). 25006 is a standby or read-only server, 55000 a database
 * closed to new connections.
 */
const TRANSIENT = /^(08|28|3D|40|53|55000|55P03|57|58|XX|25006)/;

/** SQLSTATE of a missing right, table, function or schema. */
const UNPREPARED = /^(42501|42P01|42883|3F000)$/;

/** The database is not as `gateway migrate` leaves it, for example after a restore. */
export class DatabaseUnprepared extends StoreUnavailable {
  constructor(cause: pg.DatabaseError) {
    super(`PostgreSQL cannot answer (${cause.code}) until \`gateway migrate\` was run as the owner of the tables`, {
      cause,
    });
  }
}

/** Converts errors of an unavailable PostgreSQL to StoreUnavailable. Others stay unchanged. */
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

/** The same for a statement of this release, which every database that is prepared can run. */
export function asStatementError(error: unknown): unknown {
  const isUnprepared = error instanceof pg.DatabaseError && UNPREPARED.test(error.code ?? '');
  return isUnprepared ? new DatabaseUnprepared(error) : asStoreError(error);
}

/** True after a deadlock or serialization failure. An immediate retry may succeed. */
export function isRollback(error: unknown): boolean {
  return (
    error instanceof StoreUnavailable &&
    error.cause instanceof pg.DatabaseError &&
    /^40(P01|001)$/.test(error.cause.code ?? '')
  );
}

/** True if PostgreSQL ended a statement at its timeout. */
export function isTimedOut(error: unknown): boolean {
  return error instanceof StoreUnavailable && error.cause instanceof pg.DatabaseError && error.cause.code === '57014';
}

/** True if PostgreSQL refused a value or row (data exception, constraint): no retry succeeds. */
export function isRefusedRow(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(22|23)/.test(error.code ?? '');
}

/** Finds the error of a right that the database user lacks (roles.sql), as it is or as a cause. */
export function missingRight(error: unknown): pg.DatabaseError | undefined {
  if (error instanceof pg.DatabaseError) return error.code === '42501' ? error : undefined;
  return error instanceof Error ? missingRight(error.cause) : undefined;
}

/** What PostgreSQL said, if it was reached: no such database, read only, a timeout. */
export function serverWords({ cause }: StoreUnavailable): string | undefined {
  return cause instanceof pg.DatabaseError ? cause.message : undefined;
}

/** True if another row has the same key. */
export function isTaken(error: unknown, constraint: string): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505' && error.constraint === constraint;
}

/** True if a sum exceeded the range of its column. */
export function isOutOfRange(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '22003';
}
