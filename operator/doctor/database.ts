import { connectionsTrouble } from '#core/process-figures.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { hasTransactionPooler, TRANSACTION_POOLER } from '#database/connection/transaction-pooler.ts';
import { missingRight } from '#database/connection/unavailable.ts';
import { type DatabaseDiagnosis, openDiagnosis, type SchemaFigures, type ServerFigures } from '#database/diagnosis.ts';
import type { DatabaseAddress } from '../command-line/database.ts';
import { type Finding, ok, problem, warning } from './check.ts';
import { clockFinding, latencyFinding } from './clock.ts';

/** Oldest version with which the migrations are tested. */
const OLDEST_VERSION = 140_000;
/** Each request waits for the database at least twice, for its key and for its charge. */
const SLOW_MS = 10;

export interface LookedAt {
  readonly findings: readonly Finding[];
  /** The caller must close it. Absent if the database cannot be queried. */
  readonly database?: DatabaseDiagnosis;
  /** Same object. Absent if this code cannot read the schema. */
  readonly readable?: DatabaseDiagnosis;
}

export async function lookAtDatabase({ url, where }: DatabaseAddress): Promise<LookedAt> {
  let database: DatabaseDiagnosis;
  try {
    database = await openDiagnosis(url);
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return { findings: [away(where, error)] };
  }
  // Fails, for example, if the user may not read it.
  const schema = await database.schema().catch((error: Error) => error);
  const { server } = database;
  const pooled = await hasTransactionPooler(url);
  const findings = [
    serverFinding(server, where),
    ...(pooled ? [problem('database pooler', 'each transaction has another session', TRANSACTION_POOLER)] : []),
    latencyFinding('database latency', server.latencyMs, SLOW_MS, 'PostgreSQL'),
    connectionsFinding(server),
    clockFinding('database clock', server, 'PostgreSQL'),
    schemaFinding(schema),
  ];
  const isReadable = !(schema instanceof Error) && schema.missing.length === 0;
  return { findings, database, ...(isReadable ? { readable: database } : {}) };
}

function away(where: string, { message, cause }: StoreUnavailable): Finding {
  // Messages of pg contain user, database and address, but never the password.
  const why = cause instanceof Error && cause.message !== '' ? `: ${cause.message}` : '';
  const advice = `${adviceFor(cause)} Until then every request is refused with no_capacity.`;
  return problem('database', `not reachable at ${where} (${message}${why})`, advice);
}

function adviceFor(cause: unknown): string {
  const { code = '', message = '' } = cause instanceof Error ? (cause as Error & { code?: string }) : {};
  if (/^28/.test(code)) return 'Correct user and password in DATABASE_URL (or stores.postgres), or pg_hba.conf.';
  if (code === '53300') return 'Raise max_connections: docs/stores.md has the number that is needed.';
  if (/certificate|altnames|SSL|TLS/i.test(message)) {
    return "See TLS in docs/stores.md: the host's name, sslmode and sslrootcert in DATABASE_URL.";
  }
  return 'Start it, or correct DATABASE_URL (or stores.postgres).';
}

function serverFinding({ version, versionNumber, inRecovery, readOnly }: ServerFigures, where: string): Finding {
  const found = `PostgreSQL ${version} at ${where}`;
  if (inRecovery) {
    const advice = 'Point DATABASE_URL at the primary, or promote this server; then run `ledger renew-epoch`.';
    return problem('database', `${found} is a standby and takes no charges`, advice);
  }
  if (readOnly) {
    return problem('database', `${found} begins transactions read-only`, 'Reset default_transaction_read_only.');
  }
  if (versionNumber < OLDEST_VERSION) {
    return warning(
      'database',
      `${found} is older than any that this release is tested with`,
      'Upgrade to PostgreSQL 18.',
    );
  }
  return ok('database', found);
}

function connectionsFinding({ connections, maxConnections }: ServerFigures): Finding {
  const check = 'database connections';
  const found = `${connections} of ${maxConnections} are in use`;
  const advice =
    'Raise max_connections, or run fewer gateway processes on this server: each opens at most 15, unless stores.postgres_pool sets another number.';
  const verdict = connectionsTrouble({ connections, maxConnections });
  return verdict === undefined ? ok(check, found) : { check, verdict, found, advice };
}

function schemaFinding(schema: SchemaFigures | Error): Finding {
  const check = 'database schema';
  if (schema instanceof Error) {
    return problem(
      check,
      `cannot be read: ${(missingRight(schema) ?? schema).message}`,
      'Use the user of the gateway, or grant this user its rights.',
    );
  }
  const { version, applied, newest, missing, ahead, unknown, changed } = schema;
  const newestUnusable = unknown.at(-1);
  const newestUsable = ahead.at(-1);
  if (applied === 0) {
    return problem(
      check,
      'there is none',
      'Run `gateway migrate` as its owner, which creates the schema, or correct DATABASE_URL if this is the wrong database.',
    );
  }
  if (schema.isBeforeBaseline)
    return problem(check, 'made before release 0.2.0, and cannot be upgraded', 'Use a new database.');
  if (newestUnusable !== undefined) {
    const found = `at version ${newestUnusable}, newer than this release (${version}) can use`;
    return problem(check, found, 'Run the release that the gateway processes run.');
  }
  if (changed.length > 0) {
    const found = `${changed.join(', ')}: differs from the migration that was applied`;
    return problem(check, found, 'Run the release that made this database; migrations never change once released.');
  }
  if (missing.length > 0) {
    const found = `at version ${newest}, this release has ${version}: ${missing.join(', ')} not applied`;
    return warning(check, found, 'Run `gateway migrate` of this release as the owner of the tables.');
  }
  if (newestUsable !== undefined) {
    const found = `at version ${newestUsable}, newer than this release (${version}), which it still serves`;
    return warning(check, found, 'Complete the rollout of the newer release.');
  }
  return ok(check, `at version ${version}, as this release`);
}
