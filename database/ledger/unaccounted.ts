import type pg from 'pg';
import { run, sql } from '../connection/connection-pool.ts';

const UNACCOUNTED_AMONG = sql('unaccounted_among')`
  select id from unnest($1::text[]) given (id)
    where not exists (select from ledger_entries e where e.generation_id = given.id)
      and not exists (select from losses l where l.generation_id = given.id)
      and not exists (select from dead_letters d where d.generation_id = given.id)`;

/** Returns the ids that have neither a charge nor a loss nor a dead letter. */
export async function unaccountedAmong(pool: pg.Pool, generationIds: readonly string[]): Promise<readonly string[]> {
  return (await run<{ id: string }>(pool, UNACCOUNTED_AMONG, [generationIds])).map(({ id }) => id);
}
