import { isForbidden } from '#database/connection/unavailable.ts';
import { DEMO_EMAIL } from '../records/users.ts';
import { type Finding, ok, skipped, warning } from './check.ts';
import type { LookedAt } from './database.ts';

/**
 * Checks for the demo of a first `npm start`: an operator with a well-known address, and a key that
 * spends real money if a provider's key is set.
 */
export async function lookAtDemo(isConfigured: boolean, { readable }: LookedAt): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  if (isConfigured) {
    const advice = 'Remove it from the configuration in production: an empty database would get an operator and a key.';
    found.push(warning('demo', '`demo: true` is configured', advice));
  }
  // The checks of the database itself report that.
  if (readable === undefined) return found;
  try {
    if (await readable.hasEnabledUser(DEMO_EMAIL)) {
      const advice = `Create an operator of your own, then \`user disable ${DEMO_EMAIL}\`; revoke the key of the organization Demo.`;
      found.push(warning('demo', `${DEMO_EMAIL} can sign in`, advice));
    }
  } catch (error) {
    // The database user of the gateway process may not read users.
    if (!isForbidden(error)) throw error;
    found.push(skipped('demo', 'this database user may not read its account'));
  }
  return found.length > 0 ? found : [ok('demo', 'no demo is left')];
}
