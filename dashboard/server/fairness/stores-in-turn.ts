import type pg from 'pg';
import type { Turns, TurnTaker } from '#core/fairness/turns.ts';
import type { Administration } from '#database/administration/administration.ts';
import type { Database } from './stores.ts';

interface Stores {
  readonly turns: Turns;
  readonly database: Database;
  readonly administration: Administration;
}

/** Wraps the stores so that every statement and transaction waits for a turn. */
export function storesInTurn({ turns, database, administration }: Stores, taker: TurnTaker) {
  return {
    database: databaseInTurn(database, turns, taker),
    administration: administrationInTurn(administration, turns, taker),
  };
}

function databaseInTurn(database: Database, turns: Turns, taker: TurnTaker): Database {
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

function administrationInTurn(administration: Administration, turns: Turns, taker: TurnTaker): Administration {
  return new Proxy(administration, {
    get(target, name) {
      const method = Reflect.get(target, name) as (...given: unknown[]) => Promise<unknown>;
      return (...given: unknown[]) => turns.run(taker, () => method.apply(target, given));
    },
  });
}
