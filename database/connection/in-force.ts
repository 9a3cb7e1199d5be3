import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';

/** PostgreSQL channel that announces changes of callers (tell_caller_changed.sql). */
export const CALLER_CHANGED = 'caller_changed';
/** Code of the notice that the session of the change gets. */
const CALLER_CHANGED_NOTICE = '01GWC';

/** Validity of a proof: for this long cached callers are used without hearing of changes. */
export const PROVED_FOR_MS = 250;
/**
 * Time after the commit of a change from which no process uses the former callers: the last proof
 * without the change may have been sent just before the commit. Longer than PROVED_FOR_MS, because
 * clocks run at different speeds.
 */
export const IN_FORCE_AFTER_MS = PROVED_FOR_MS + 50;

/**
 * Returns a row if any process may keep callers. A process marks the database before it reads a
 * caller, and removes the mark only when it ends (memory-mode-lock.ts).
 */
const MAY_BE_KEPT = 'select from ledger_state where memory_owner is not null';

/** Watches one transaction for changes of callers. */
export function watchForChanges(client: pg.PoolClient) {
  let changed = false;
  const onNotice = ({ code }: { readonly code: string | undefined }): void => {
    changed ||= code === CALLER_CHANGED_NOTICE;
  };
  client.on('notice', onNotice);
  return {
    /** Called after the commit. True if `untilInForce` has to be awaited. */
    mustWait: async () => changed && (await client.query(MAY_BE_KEPT)).rowCount !== 0,
    end: () => client.off('notice', onNotice),
  };
}

/** Resolves when a change that was committed before is in force for every new request. */
export function untilInForce(): Promise<void> {
  return sleep(IN_FORCE_AFTER_MS);
}
