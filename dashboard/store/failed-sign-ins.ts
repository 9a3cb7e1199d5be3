import type pg from 'pg';
import { addAuditEvent } from '../../ext-proc/stores/postgres/audit-log.ts';
import { inTransaction } from '../../ext-proc/stores/postgres/connection-pool.ts';

/** Somebody gave a wrong password, or an e-mail address that nobody has. */
export interface FailedSignIn {
  /** Absent: nobody has it. What was typed is not kept: people type passwords into the wrong field. */
  readonly user?: { readonly id: string; readonly email: string };
  readonly address: string;
}

const SOMEBODY = 'somebody';
const UNKNOWN = 'an unknown e-mail address';

/** Whoever fails is not the user until proved: the actor stays nameless, and its address tells more. */
export async function noteFailedSignIn(pool: pg.Pool, { user, address }: FailedSignIn): Promise<void> {
  const subject = user ? { subjectId: user.id, subjectName: user.email } : { subjectName: UNKNOWN };
  await inTransaction(pool, 'begin', (client) =>
    addAuditEvent(client, { action: 'user.sign_in_failed', ...subject, changes: {} }, { actor: SOMEBODY, address }),
  );
}
