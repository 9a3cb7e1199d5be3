import { isForbidden } from '../../database/connection/unavailable.ts';
import { DEMO_EMAIL } from '../records/users.ts';
import { type Finding, ok, skipped, warning } from './check.ts';
import type { LookedAt } from './database.ts';

/**
 * The demonstration of a first `npm start`: an operator with a well-known address, and a key that
 * spends real money where a provider's is set.
 */
export async function lookAtDemo(isConfigured: boolean, { database, readable }: LookedAt): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  if (isConfigured) {
    const advice =
      'Take it out of the configuration in production: the next empty database would get an operator and a key.';
    found.push(warning('demo', '`demo: true` is configured', advice));
  }
  // The checks of the database itself report that.
  if (database === undefined || !readable) return found;
  try {
    if (await database.hasEnabledUser(DEMO_EMAIL)) {
      const advice = `Make an operator of your own, then \`user disable ${DEMO_EMAIL}\`; revoke the key of the organization Demo.`;
      found.push(warning('demo', `${DEMO_EMAIL} can sign in`, advice));
    }
  } catch (error) {
    // The gateway process's user does not see people.
    if (!isForbidden(error)) throw error;
    found.push(skipped('demo', "its account is not this database user's to see"));
  }
  return found.length > 0 ? found : [ok('demo', 'none is left on')];
}
