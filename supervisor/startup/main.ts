import type { FromStart } from '../start-process.ts';
import { type ReadSettings, readSettings } from './read-settings.ts';

/**
 * The process of the start: reads and checks the configuration for the supervisor, later prints the
 * banner, and ends. What it loads for that (the schema of the configuration, the database client)
 * is three fifths of the memory that the supervisor would keep (docs/performance.md, "Memory").
 */

/** The supervisor has what it wanted, or is gone. */
process.on('disconnect', () => process.exit());

const read = await readSettings(process.env);
if (typeof read === 'string') answer({ type: 'refused', message: read });
else {
  process.once('message', ({ databaseUrl }: { databaseUrl: string }) => void announceFor(read, databaseUrl));
  answer({ type: 'settings', settings: read.settings });
}
// Now, while the database starts, and not before the settings.
await import('./announce.ts');

async function announceFor({ config, settings }: ReadSettings, databaseUrl: string): Promise<void> {
  const { announce } = await import('./announce.ts');
  const problem = await announce(config, settings.env, databaseUrl);
  answer(problem === undefined ? { type: 'announced' } : { type: 'refused', message: problem });
}

function answer(message: FromStart): void {
  process.send?.(message);
}
