import type pg from 'pg';
import type { Turns, TurnTaker } from '#core/fairness/turns.ts';
import type { Database } from './stores.ts';

interface Shared {
  readonly database: Database;
  readonly turns: Turns;
}

/** Wraps the pool so that every statement and transaction waits for a turn. */
export function databaseInTurn({ database, turns }: Shared, taker: TurnTaker): Database {
  const inherited: Database = Object.create(database);
  return Object.assign(inherited, {
    query: (config: pg.QueryConfig) => turns.run(taker, () => database.query(config)),
    connect: () => connectInTurn(database, turns, taker),
  });
}

async function connectInTurn(database: Database, turns: Turns, taker: TurnTaker): Promise<pg.PoolClient> {
  const end = await turns.take(taker);
  try {
    const client = await database.connect();
    // The pool gives each checkout a `release` of its own.
    const release = client.release.bind(client);
    client.release = (error) => {
      release(error);
      end();
    };
    return client;
  } catch (error) {
    end();
    throw error;
  }
}
