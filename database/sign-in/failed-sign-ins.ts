import type pg from 'pg';
import { addAuditEvent } from '../audit/audit-log.ts';
import { countEvent } from '../audit/change-counts.ts';
import { inTransaction } from '../connection/connection-pool.ts';

/** Somebody gave a wrong password, or an e-mail address that nobody has. */
export interface FailedSignIn {
  /** Absent: nobody has it. What was typed is not kept: people type passwords into the wrong field. */
  readonly user?: { readonly id: string; readonly email: string };
  readonly address: string;
}

const SOMEBODY = 'somebody';
const UNKNOWN = 'an unknown e-mail address';

/** So many of a minute are told one by one, for each account; then those with which their number has doubled. */
const TOLD_EACH = 10;

/** Whoever fails is not the user until proved: the actor stays nameless, and its address tells more. */
export async function noteFailedSignIn(pool: pg.Pool, { user, address }: FailedSignIn): Promise<void> {
  const subject = user ? { subjectId: user.id, subjectName: user.email } : { subjectName: UNKNOWN };
  const failures = await countEvent(pool, `failed sign-ins ${user?.id ?? UNKNOWN}`);
  if (!isTold(failures)) return;
  const changes = failures > TOLD_EACH ? { failuresWithinMinute: [null, failures] as const } : {};
  await inTransaction(pool, 'begin', (client) =>
    addAuditEvent(client, { action: 'user.sign_in_failed', ...subject, changes }, { actor: SOMEBODY, address }),
  );
}

export function isTold(failures: number): boolean {
  return failures <= TOLD_EACH || Number.isInteger(Math.log2(failures / TOLD_EACH));
}
