import type { FromStart } from '../start-process.ts';
import { type ReadSettings, readSettings } from './read-settings.ts';

/**
 * The start process. It reads and checks the configuration for the supervisor, prints the banner,
 * and ends. The modules that it needs for this (the configuration's schema, the database client)
 * would be three fifths of the supervisor's memory (docs/performance.md, "Memory").
 */

/** The supervisor needs nothing more, or is gone. */
process.on('disconnect', () => process.exit());

const read = await readSettings(process.env);
if (typeof read === 'string') answer({ type: 'refused', message: read });
else {
  process.once('message', ({ databaseUrl }: { databaseUrl: string }) => void announceFor(read, databaseUrl));
  answer({ type: 'settings', settings: read.settings });
}
// Loaded while the database starts, so that it does not delay the settings.
await import('./announce.ts');

async function announceFor({ config, settings }: ReadSettings, databaseUrl: string): Promise<void> {
  const { announce } = await import('./announce.ts');
  const problem = await announce(config, settings.env, databaseUrl);
  answer(problem === undefined ? { type: 'announced' } : { type: 'refused', message: problem });
}

function answer(message: FromStart): void {
  process.send?.(message);
}
