import { NANO_PER_USD } from '#core/money.ts';
import { SCOPES } from '#core/principal.ts';
import { createPool } from '#database/connection/connection-pool.ts';
import { listOrganizations } from '#database/organizations/organization-rows.ts';
import { findUserByEmail, listUsers } from '#database/users/user-rows.ts';
import { createKeyWithSecret } from '#operator/records/keys.ts';
import { openOrganization } from '#operator/records/organizations.ts';
import { createUserWithPassword, DEMO_EMAIL } from '#operator/records/users.ts';

const CREDIT_USD = 10n;
const REQUESTS_PER_MINUTE = 600;
const BY = { actor: 'npm start' };
const TIMEOUTS = { connectMs: 2_000, statementMs: 3_000 };
const QUIET = { info: () => {}, warn: () => {}, error: () => {} };

/** The banner's customer: the demo one with its key (shown once), an existing one, or none. */
export type Customer =
  | { readonly kind: 'demo'; readonly organizationId: string; readonly key: string }
  | { readonly kind: 'existing'; readonly organizationId: string }
  | { readonly kind: 'none' };

/** Creates the demo organization if it is wanted and there is no organization. */
export async function findCustomer(databaseUrl: string, wantDemo: boolean): Promise<Customer> {
  const pool = createPool(databaseUrl, 1, TIMEOUTS, QUIET);
  try {
    const [oldest] = await listOrganizations(pool);
    if (oldest !== undefined) return { kind: 'existing', organizationId: oldest.id };
    if (!wantDemo) return { kind: 'none' };
    const made = await openOrganization(
      pool,
      { name: 'Demo', requestsPerMinute: REQUESTS_PER_MINUTE, creditNanoUsd: CREDIT_USD * NANO_PER_USD },
      BY,
    );
    // Cannot be refused, because the credit has no reference that could clash.
    if (made.kind !== 'created') throw new Error('the demo organization was refused');
    const { organization } = made;
    const key = { organizationId: organization.id, name: 'Demo', scopes: SCOPES };
    const created = await createKeyWithSecret(pool, key, BY);
    return created.kind === 'created'
      ? { kind: 'demo', organizationId: organization.id, key: created.secret }
      : { kind: 'existing', organizationId: organization.id };
  } finally {
    await pool.end();
  }
}

/** The banner's sign-in: the demo user with its password (shown once), an existing one, or none. */
export type SignIn =
  | { readonly kind: 'new'; readonly email: string; readonly password: string }
  /** `email` is present only for the demo user, because operators know their own address. */
  | { readonly kind: 'existing'; readonly email?: string }
  | { readonly kind: 'none' };

/** Creates the demo user if there is none: an operator, and owner of `demoOrganizationId`. */
export async function findSignIn(databaseUrl: string, demoOrganizationId: string | undefined): Promise<SignIn> {
  const pool = createPool(databaseUrl, 1, TIMEOUTS, QUIET);
  try {
    if ((await listUsers(pool, { limit: 1 })).length > 0) {
      const demo = await findUserByEmail(pool, DEMO_EMAIL);
      return { kind: 'existing', ...(demo ? { email: demo.email } : {}) };
    }
    if (demoOrganizationId === undefined) return { kind: 'none' };
    const membership = { organizationId: demoOrganizationId, role: 'owner' } as const;
    const user = { email: DEMO_EMAIL, isOperator: true, membership };
    const created = await createUserWithPassword(pool, user, BY);
    return created.kind === 'created'
      ? { kind: 'new', email: DEMO_EMAIL, password: created.password }
      : { kind: 'existing' };
  } finally {
    await pool.end();
  }
}
