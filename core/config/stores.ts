import type { z } from 'zod';
import { isPostgresUrl, POSTGRES_URL_ACCEPTED } from './postgres-url.ts';
import type { RuleProblem } from './problem.ts';
import { parseRedisUrl } from './redis-url.ts';
import { duration, readText, section, whole } from './schema-fields.ts';
import { isUnread, type Secrets } from './secret-places.ts';

const REDIS_URL_ACCEPTED =
  'a URL such as redis://user:password@host:6379/0, or rediss://… with no parameters but sslrootcert, sslcert and sslkey; write / @ % of the password as %2F %40 %25';

/** Upper bounds: with longer ones a process could not write its last charges in its time to end. */
const LONGEST_CONNECT_MS = 10_000;
const LONGEST_STATEMENT_MS = 5_000;

export const stores = section({
  postgres: readText(`embedded, or ${POSTGRES_URL_ACCEPTED}`, (text) =>
    storeAt(text, 'embedded', isPostgresUrl),
  ).prefault('embedded'),
  redis: readText(`memory, or ${REDIS_URL_ACCEPTED}`, (text) => storeAt(text, 'memory', isRedisUrl)).prefault('memory'),
  /** Configurable connections of one process. */
  postgres_pool: section({
    idempotency: whole(1, 64).prefault(4),
    administration: whole(2, 64).prefault(4),
  }).prefault({}),
  postgres_timeouts: section({
    connect: duration(100, LONGEST_CONNECT_MS).prefault('2s'),
    statement: duration(100, LONGEST_STATEMENT_MS).prefault('3s'),
  }).prefault({}),
}).transform(({ postgres, redis, postgres_pool, postgres_timeouts: { connect, statement } }) => ({
  postgres,
  redis,
  postgresPool: postgres_pool,
  postgresTimeouts: { connectMs: connect, statementMs: statement },
}));

export type StoresConfig = Readonly<z.output<typeof stores>>;

type Store<Own> = { readonly kind: Own } | { readonly kind: 'url'; readonly url: string };

function storeAt<const Own extends string>(
  text: string,
  own: Own,
  isUrl: (text: string) => boolean,
): Store<Own> | undefined {
  if (text === own) return { kind: own };
  return isUrl(text) ? { kind: 'url', url: text } : undefined;
}

function isRedisUrl(text: string): boolean {
  return parseRedisUrl(text) !== undefined;
}

/**
 * The supervisor sets this variable to `stores.postgres` of the file, if the file named the
 * database. DATABASE_URL then names that database for all processes, even those that start later,
 * so a change of the file needs a restart.
 */
export const POSTGRES_OF_FILE = 'GATEWAY_POSTGRES_OF_FILE';

export interface OverriddenStores {
  readonly stores: StoresConfig | undefined;
  readonly problems: readonly RuleProblem[];
  /** True if the file has named another database since the start of the supervisor. */
  readonly changed: boolean;
}

/** DATABASE_URL and REDIS_URL override the file. */
export function overrideStores(
  stores: StoresConfig | undefined,
  env: Readonly<Record<string, string | undefined>>,
  secrets: Secrets,
): OverriddenStores {
  const problems: RuleProblem[] = [];
  const postgresUrl = env.DATABASE_URL;
  const redisUrl = isUnread(['stores', 'redis'], secrets) ? undefined : env.REDIS_URL;
  if (postgresUrl && !isPostgresUrl(postgresUrl)) {
    problems.push({
      path: ['stores', 'postgres'],
      message: `is overridden by DATABASE_URL, which must be ${POSTGRES_URL_ACCEPTED}`,
    });
  }
  if (redisUrl && !isRedisUrl(redisUrl)) {
    problems.push({
      path: ['stores', 'redis'],
      message: `is overridden by REDIS_URL, which must be ${REDIS_URL_ACCEPTED}`,
    });
  }
  if (stores === undefined) return { stores, problems, changed: false };
  const { postgres, redis } = stores;
  const ofFile = env[POSTGRES_OF_FILE];
  return {
    stores: {
      ...stores,
      postgres: postgresUrl ? { kind: 'url', url: postgresUrl } : postgres,
      redis: redisUrl ? { kind: 'url', url: redisUrl } : redis,
    },
    problems,
    changed: ofFile !== undefined && ofFile !== (postgres.kind === 'url' ? postgres.url : postgres.kind),
  };
}
