import { createPool } from '../database/connection/connection-pool.ts';
import { findUserByEmail, listUsers } from '../database/users/user-rows.ts';
import { createUserWithPassword } from '../operator/users.ts';

export const DEMO_EMAIL = 'demo@example.com';
const TIMEOUTS = { connectMs: 2_000, statementMs: 3_000 };

/** Who could sign in to the dashboard, for the banner: the demo user (the password is shown this once), somebody, or nobody. */
export type SignIn =
  | { readonly kind: 'new'; readonly email: string; readonly password: string }
  /** Absent: whoever runs this gateway knows. */
  | { readonly kind: 'existing'; readonly email?: string }
  | { readonly kind: 'none' };

/** `demoOrganizationId`: where a database without any user gets the demo user. An operator and the organization's owner, who can see everything. */
export async function findSignIn(databaseUrl: string, demoOrganizationId: string | undefined): Promise<SignIn> {
  const quiet = { info: () => {}, warn: () => {}, error: () => {} };
  const pool = createPool(databaseUrl, 1, TIMEOUTS, quiet);
  try {
    if ((await listUsers(pool, { limit: 1 })).length > 0) {
      const demo = await findUserByEmail(pool, DEMO_EMAIL);
      return { kind: 'existing', ...(demo ? { email: demo.email } : {}) };
    }
    if (demoOrganizationId === undefined) return { kind: 'none' };
    const membership = { organizationId: demoOrganizationId, role: 'owner' } as const;
    const user = { email: DEMO_EMAIL, isOperator: true, membership };
    const created = await createUserWithPassword(pool, user, { actor: 'npm start' });
    return created.kind === 'created'
      ? { kind: 'new', email: DEMO_EMAIL, password: created.password }
      : { kind: 'existing' };
  } finally {
    await pool.end();
  }
}
