import type pg from 'pg';
import { SOMEBODY } from '../audit/audit.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { countEvent } from '../audit/change-counts.ts';
import { inTransaction } from '../connection/connection-pool.ts';

/** Attempt with a wrong password or an unknown e-mail address. */
export interface FailedSignIn {
  /**
   * Absent: unknown address. The typed text is not stored, because people type passwords into the
   * wrong field.
   */
  readonly user?: { readonly id: string; readonly email: string };
  readonly address: string;
}

const UNKNOWN = 'an unknown e-mail address';

/**
 * Failures of an account per minute that are recorded individually; then each doubling is recorded.
 */
const RECORDED_EACH = 10;

/**
 * Records a failure. The actor has no name, only an address, because a failed attempt does not
 * prove the user.
 */
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
