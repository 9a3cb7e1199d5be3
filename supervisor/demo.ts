import { createHash, randomBytes } from 'node:crypto';
import { newId } from '../ext-proc/domain/ids.ts';
import { NANO_PER_USD } from '../ext-proc/domain/money.ts';
import { openPostgres } from '../ext-proc/stores/postgres/open.ts';

const DEMO_CREDIT_USD = 10n;
const DEMO_REQUESTS_PER_MINUTE = 600;

/** On a database without any organization: makes one with some credit, and returns its key. Otherwise changes nothing. */
export async function createDemoOrganization(databaseUrl: string): Promise<string | undefined> {
  const quiet = { info: () => {}, warn: () => {}, error: () => {} };
  const database = await openPostgres({ url: databaseUrl, log: quiet });
  try {
    const { administration } = database;
    if ((await administration.organizations()).length > 0) return undefined;
    const organization = await administration.createOrganization(
      {
        id: newId('org', Date.now()),
        name: 'Demo',
        allowMultipleCompletions: false,
        concurrency: 64,
        limits: { requestsPerMinute: DEMO_REQUESTS_PER_MINUTE },
      },
      { amountNanoUsd: DEMO_CREDIT_USD * NANO_PER_USD, note: 'Demo credit', actor: 'npm start' },
    );
    const key = `sk-gw-${randomBytes(32).toString('base64url')}`;
    const created = await administration.createKey({
      id: newId('key', Date.now()),
      organizationId: organization.id,
      name: 'Demo',
      scopes: ['chat', 'usage:read'],
      limits: {},
      hash: createHash('sha256').update(key).digest(),
      last4: key.slice(-4),
    });
    return created.kind === 'created' ? key : undefined;
  } finally {
    await database.close();
  }
}
