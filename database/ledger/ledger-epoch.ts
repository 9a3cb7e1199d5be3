import type pg from 'pg';
import type { Actor } from '../audit/audit.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { inTransaction, only, sql } from '../connection/connection-pool.ts';

const EPOCH = sql('ledger_epoch')`select epoch from ledger_state`;
const RENEW_EPOCH = sql('renew_epoch')`update ledger_state set epoch = gen_random_uuid() returning epoch`;

export async function ledgerEpoch(pool: pg.Pool): Promise<string> {
  return (await only<{ epoch: string }>(pool, EPOCH, [])).epoch;
}

/** After a restore, makes every limit store discard its state of this ledger. Returns the epoch. */
export async function renewLedgerEpoch(pool: pg.Pool, by: Actor): Promise<string> {
  return inTransaction(pool, 'begin', async (client) => {
    const { epoch } = await only<{ epoch: string }>(client, RENEW_EPOCH, []);
    await addAuditEvent(client, { action: 'ledger.epoch_renewed', subjectName: epoch, changes: {} }, by);
    return epoch;
  });
}
