import type pg from 'pg';
import { addAuditEvent } from '../audit/audit-log.ts';
import { countEvent } from '../audit/change-counts.ts';
import { inTransaction } from '../connection/connection-pool.ts';

/** Somebody gave a wrong password, or an e-mail address that nobody has. */
export interface FailedSignIn {
  /**
   * Absent: nobody has it. What was typed is not kept: people type passwords into the wrong field.
   */
  readonly user?: { readonly id: string; readonly email: string };
  readonly address: string;
}

const SOMEBODY = 'somebody';
const UNKNOWN = 'an unknown e-mail address';

/**
 * Failures of an account that are recorded one by one in a minute; then each doubling of their
 * number.
 */
const RECORDED_EACH = 10;

/** A failed attempt does not prove the user: the actor stays nameless, and has only an address. */
export async function noteFailedSignIn(pool: pg.Pool, { user, address }: FailedSignIn): Promise<void> {
  const subject = user ? { subjectId: user.id, subjectName: user.email } : { subjectName: UNKNOWN };
  const failures = await countEvent(pool, `failed sign-ins ${user?.id ?? UNKNOWN}`);
  if (!isTold(failures)) return;
  const changes = failures > RECORDED_EACH ? { failuresWithinMinute: [null, failures] as const } : {};
  await inTransaction(pool, 'begin', (client) =>
    addAuditEvent(client, { action: 'user.sign_in_failed', ...subject, changes }, { actor: SOMEBODY, address }),
  );
}

export function isTold(failures: number): boolean {
  return failures <= RECORDED_EACH || Number.isInteger(Math.log2(failures / RECORDED_EACH));
}
