import { run } from '../ext-proc/stores/postgres/connection-pool.ts';
import { type Command, onDatabase } from './command.ts';

/** Every command brings the schema forward when it connects; this one does nothing else, and says how far. */
export const MIGRATE: Command = {
  name: 'migrate',
  summary: 'Bring the database schema forward, as every process of this version would when it starts.',
  positionals: [],
  flags: [],
  run: (call) =>
    onDatabase(
      call,
      () => undefined,
      async ({ pool }) => {
        const [newest] = await run<{ version: number; name: string }>(pool, NEWEST, []);
        if (newest === undefined) throw new Error('the schema has no migration');
        const json = { ok: true, version: newest.version, name: newest.name };
        return { kind: 'done', json, text: `The schema is at version ${newest.version} (${newest.name}).` };
      },
    ),
};

const NEWEST = {
  name: 'newest_migration',
  text: 'select version, name from schema_migrations order by version desc limit 1',
};
