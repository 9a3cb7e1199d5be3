import type { RightParts } from './right-parts.ts';
import type { RuleProblem } from './rules.ts';
import { type ConfigFile, POSTGRES_URL, REDIS_URL } from './schema.ts';
import type { Secrets } from './secret-places.ts';

/**
 * Set by the supervisor where `stores.postgres` of the file decided, to what stood there:
 * DATABASE_URL is then the same database, for processes that start later too, and a file that says
 * something else waits for a restart.
 */
export const POSTGRES_OF_FILE = 'GATEWAY_POSTGRES_OF_FILE';

export interface OverriddenStores {
  readonly stores: ConfigFile['stores'] | undefined;
  readonly problems: readonly RuleProblem[];
  /** The file names another database than when the supervisor started. */
  readonly changed: boolean;
}

/** DATABASE_URL and REDIS_URL override the file. */
export function overrideStores(
  stores: RightParts['stores'],
  env: Readonly<Record<string, string | undefined>>,
  secrets: Secrets,
): OverriddenStores {
  const problems: RuleProblem[] = [];
  const redisUrl = secrets === 'none' ? undefined : env.REDIS_URL;
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
