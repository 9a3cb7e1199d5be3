import type { DeclaredModels, Environment } from '#core/config/load.ts';
import { isPostgresUrl, POSTGRES_URL_ACCEPTED } from '#core/config/postgres-url.ts';
import { configPath, embeddedDatabaseUrl, runtimePaths } from '#core/config/runtime-paths.ts';
import { socketFolderProblem } from '#core/config/socket-folder.ts';
import { exists } from '#core/exists.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { createPool } from '#database/connection/connection-pool.ts';
import { DatabaseUnprepared, missingRight, serverWords } from '#database/connection/unavailable.ts';
import { prepareDatabase } from '#database/schema/prepare.ts';
import { type Result, refused } from './result.ts';

export type Pool = ReturnType<typeof createPool>;

/** Runs `use` on DATABASE_URL's database, else the configured one, else that of GATEWAY_DATA. */
export async function withDatabase(env: Environment, use: (pool: Pool) => Promise<Result>): Promise<Result> {
  return withPool(env, async (pool, url) => {
    let stopPreparing: () => void;
    try {
      stopPreparing = await prepareDatabase(url, pool, QUIET);
    } catch (error) {
      if (error instanceof StoreUnavailable || missingRight(error)) throw error;
      // The schema is from another release, or the URL is malformed. The message contains advice.
      return refused(error instanceof Error ? error.message : String(error));
    }
    return use(pool).finally(stopPreparing);
  });
}

/** Runs `use` without checking the schema, which may not exist yet. */
export async function withPool(env: Environment, use: (pool: Pool, url: string) => Promise<Result>): Promise<Result> {
  const found = await findDatabase(env);
  if ('kind' in found) return found;
  const pool = createPool(found.url, CONNECTIONS, TIMEOUTS, QUIET);
  try {
    return await use(pool, found.url);
  } catch (error) {
    const message = explain(error, found.where);
    if (message !== undefined) return refused(message);
    throw error;
  } finally {
    await pool.end();
  }
}

function explain(error: unknown, where: string): string | undefined {
  const forbidden = missingRight(error);
  if (forbidden) {
    const users = 'a user in the role gateway_operator, and for `migrate` to the owner of the tables';
    return `The database user may not do this (${forbidden.message}). Set DATABASE_URL to ${users}.`;
  }
  if (error instanceof DatabaseUnprepared) return `${error.message}.`;
  if (!(error instanceof StoreUnavailable)) return undefined;
  const words = serverWords(error);
  if (words !== undefined) return `PostgreSQL at ${where} refuses the command: ${words}.`;
  return `PostgreSQL is not reachable at ${where}. Start the gateway (npm start), or set DATABASE_URL to the database of a running one.`;
}

/** The verification of the ledger reads on several connections at once. */
const CONNECTIONS = 4;
const TIMEOUTS = { connectMs: 2_000, statementMs: 3_000 };
/** Problems are part of the command's output, not log lines. */
const QUIET = { info: () => {}, warn: () => {}, error: () => {} };

export interface DatabaseAddress {
  readonly url: string;
  /** Shown in messages, so it excludes the URL's credentials. */
  readonly where: string;
}

export async function findDatabase(env: Environment): Promise<DatabaseAddress | Result> {
  if (env.DATABASE_URL) return atUrl(env.DATABASE_URL);
  // Loading the configuration costs more than the rest of a command, so it is done only if needed.
  const { loadConfig } = await import('#core/config/load.ts');
  const path = configPath(env);
  if (!(await exists(path))) return embedded(env, ` (there is no ${path})`);
  const loaded = await loadConfig(path, env, { secrets: 'none' });
  if (loaded.ok) {
    const { postgres } = loaded.config.stores;
    return postgres.kind === 'url' ? atUrl(postgres.url) : embedded(env);
  }
  return refused(`${path} is invalid, so its database is unknown: run check-config, or set DATABASE_URL.`);
}

/** What the configuration declares. `undefined`: there is none here, or it is invalid. */
export async function declaredHere(env: Environment): Promise<DeclaredModels | undefined> {
  const { loadConfig } = await import('#core/config/load.ts');
  const loaded = await loadConfig(configPath(env), env, { secrets: 'none' });
  return loaded.ok ? loaded.declared : undefined;
}

function atUrl(url: string): DatabaseAddress | Result {
  if (!isPostgresUrl(url)) return refused(`DATABASE_URL must be ${POSTGRES_URL_ACCEPTED}.`);
  // A URL for a socket may have no host, which `URL` does not parse.
  if (!URL.canParse(url)) return { url, where: 'the address in DATABASE_URL' };
  const { hostname, port, searchParams } = new URL(url);
  return { url, where: searchParams.get('host') ?? `${hostname}${port === '' ? '' : `:${port}`}` };
}

function embedded(env: Environment, why = ''): DatabaseAddress | Result {
  const paths = runtimePaths(env);
  const problem = socketFolderProblem(paths);
  if (problem !== undefined) return refused(problem);
  return { url: embeddedDatabaseUrl(paths), where: `the embedded server of ${paths.dataDir}${why}` };
}
