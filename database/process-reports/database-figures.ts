import type pg from 'pg';
import type { SystemView } from '#contract/operator.ts';
import { only, sql } from '../connection/connection-pool.ts';

type DatabaseFigures = SystemView['database'] & Pick<SystemView, 'deadLetters'>;

/** Figures of the database. Dead letters are few, so counting stops at some thousands. */
const FIGURES = sql('database_figures')`
  select current_setting('server_version') as version, pg_database_size(current_database())::double precision as "sizeBytes",
      (select sum(numbackends)::integer from pg_stat_database) as connections,
      current_setting('max_connections')::integer as "maxConnections",
      (select max(version) from schema_migrations) as "schemaVersion",
      (select count(*)::integer from (select from dead_letters where resolution is null limit 10000) as d) as "deadLetters"`;

export function databaseFigures(pool: pg.Pool): Promise<DatabaseFigures> {
  return only(pool, FIGURES, []);
}
