import type pg from 'pg';
import type { SystemView } from '#contract/operator.ts';
import { only, sql } from '../connection/connection-pool.ts';

type DatabaseFigures = SystemView['database'] & Pick<SystemView, 'deadLetters'>;

/** Uses pg_stat_database: pg_stat_activity shows others only to privileged users. */
export const CONNECTIONS = `
      (select sum(numbackends)::integer from pg_stat_database) as connections,
      current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
        - coalesce(current_setting('reserved_connections', true), '0')::integer as "maxConnections"`;

/** Number of undecided dead letters. They are few, so counting stops at some thousands. */
export const DEAD_LETTERS =
  '(select count(*)::integer from (select from dead_letters where resolution is null limit 10000) d)';

const FIGURES = sql('database_figures')`
  select current_setting('server_version') as version, pg_database_size(current_database())::double precision as "sizeBytes",
      ${CONNECTIONS},
      (select max(version) from schema_migrations) as "schemaVersion",
      ${DEAD_LETTERS} as "deadLetters"`;

export function databaseFigures(pool: pg.Pool): Promise<DatabaseFigures> {
  return only(pool, FIGURES, []);
}
