import type { RuleProblem } from './problem.ts';
import type { RightParts } from './right-parts.ts';
import { type ConfigFile, POSTGRES_URL, REDIS_URL } from './schema.ts';
import { isUnread, type Secrets } from './secret-places.ts';

/**
 * The supervisor sets this variable to `stores.postgres` of the file, if the file named the
 * database. DATABASE_URL then names that database for all processes, even those that start later,
 * so a change of the file needs a restart.
 */
export const POSTGRES_OF_FILE = 'GATEWAY_POSTGRES_OF_FILE';

export interface OverriddenStores {
  readonly stores: ConfigFile['stores'] | undefined;
  readonly problems: readonly RuleProblem[];
  /** True if the file has named another database since the start of the supervisor. */
  readonly changed: boolean;
}

/** DATABASE_URL and REDIS_URL override the file. */
export function overrideStores(
  stores: RightParts['stores'],
  env: Readonly<Record<string, string | undefined>>,
  secrets: Secrets,
): OverriddenStores {
  const problems: RuleProblem[] = [];
  const redisUrl = isUnread(['stores', 'redis'], secrets) ? undefined : env.REDIS_URL;
  if (env.DATABASE_URL && !POSTGRES_URL.test(env.DATABASE_URL)) {
    problems.push({
      path: ['stores', 'postgres'],
      message: `is overridden by DATABASE_URL, which must be a postgres:// or postgresql:// URL of one host`,
    });
  }
  if (redisUrl && !REDIS_URL.test(redisUrl)) {
    problems.push({
      path: ['stores', 'redis'],
      message: `is overridden by REDIS_URL, which must be a redis:// or rediss:// URL`,
    });
  }
  const postgres = env.DATABASE_URL || stores?.postgres;
  const redis = redisUrl || stores?.redis;
  const ofFile = env[POSTGRES_OF_FILE];
  return {
    stores: stores && postgres && redis ? { ...stores, postgres, redis } : undefined,
    problems,
    changed: ofFile !== undefined && stores !== undefined && stores.postgres !== ofFile,
  };
}
