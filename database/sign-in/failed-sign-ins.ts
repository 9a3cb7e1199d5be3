import type pg from 'pg';
import { SOMEBODY } from '../audit/audit.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { countEvent } from '../audit/change-counts.ts';
import { inTransaction } from '../connection/connection-pool.ts';

/** An attempt with a wrong password or an unknown email address. */
export interface FailedSignIn {
  /** Absent: the address is unknown. It is not stored, because people type passwords there. */
  readonly user?: { readonly id: string; readonly email: string };
  readonly address: string;
}

const UNKNOWN = 'an unknown e-mail address';

/** Failures of an account per minute recorded one by one. After that, each doubling is. */
const RECORDED_EACH = 10;

/** Records a failure with only an address: a failed attempt does not prove who it is. */
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
