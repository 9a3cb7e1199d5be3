import { NANO_PER_USD } from '../core/money.ts';
import { SCOPES } from '../core/principal.ts';
import { openPostgres } from '../database/open.ts';
import { createKey } from '../operator/keys.ts';
import { createOrganization } from '../operator/organizations.ts';

const CREDIT_USD = 10n;
const REQUESTS_PER_MINUTE = 600;
const BY = { actor: 'npm start' };

/** Who could call the gateway, for the banner: the demo organization's key (shown this once), an organization that is there, or nobody. */
export type Customer =
  | { readonly kind: 'demo'; readonly organizationId: string; readonly key: string }
  | { readonly kind: 'existing'; readonly organizationId: string }
  | { readonly kind: 'none' };

/** Makes the demo organization if it is wanted and the database has no organization at all. */
export async function findCustomer(databaseUrl: string, wantDemo: boolean): Promise<Customer> {
  const quiet = { info: () => {}, warn: () => {}, error: () => {} };
  const database = await openPostgres({ url: databaseUrl, log: quiet });
  try {
    const { administration } = database;
    const oldest = (await administration.organizations())[0];
    if (oldest !== undefined) return { kind: 'existing', organizationId: oldest.id };
    if (!wantDemo) return { kind: 'none' };
    const made = await createOrganization(
      administration,
      {
        name: 'Demo',
        limits: { requestsPerMinute: REQUESTS_PER_MINUTE },
        creditNanoUsd: CREDIT_USD * NANO_PER_USD,
      },
      BY,
    );
    // It has no reference that another organization could have.
    if (made.kind !== 'created') throw new Error('the demo organization was refused');
    const { organization } = made;
    const created = await createKey(
      administration,
      {
        organizationId: organization.id,
        name: 'Demo',
        scopes: SCOPES,
        limits: {},
      },
      BY,
    );
    return created.kind === 'created'
      ? { kind: 'demo', organizationId: organization.id, key: created.secret }
      : { kind: 'existing', organizationId: organization.id };
  } finally {
    await database.close();
  }
}
