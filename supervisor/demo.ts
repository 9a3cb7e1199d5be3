import { NANO_PER_USD } from '../ext-proc/domain/money.ts';
import { SCOPES } from '../ext-proc/domain/principal.ts';
import { openPostgres } from '../ext-proc/stores/postgres/open.ts';
import { createKey } from '../operator/keys.ts';
import { createOrganization } from '../operator/organizations.ts';

const CREDIT_USD = 10n;
const REQUESTS_PER_MINUTE = 600;

/** On a database without any organization: makes one with some credit, and returns its key. Otherwise changes nothing. */
export async function createDemoOrganization(databaseUrl: string): Promise<string | undefined> {
  const quiet = { info: () => {}, warn: () => {}, error: () => {} };
  const database = await openPostgres({ url: databaseUrl, log: quiet });
  try {
    const { administration } = database;
    if ((await administration.organizations()).length > 0) return undefined;
    const organization = await createOrganization(administration, {
      name: 'Demo',
      limits: { requestsPerMinute: REQUESTS_PER_MINUTE },
      creditNanoUsd: CREDIT_USD * NANO_PER_USD,
      actor: 'npm start',
    });
    const created = await createKey(administration, {
      organizationId: organization.id,
      name: 'Demo',
      scopes: SCOPES,
      limits: {},
    });
    return created.kind === 'created' ? created.secret : undefined;
  } finally {
    await database.close();
  }
}
