import type pg from 'pg';
import type { Actor } from '../audit/audit.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { listCheckpoints } from '../checkpoints/checkpoint-rows.ts';
import { writeCheckpoints } from '../checkpoints/checkpoint-writer.ts';
import type { CheckpointRun } from '../checkpoints/checkpoints.ts';
import {
  createPool,
  inTransaction,
  only,
  run,
  type StoreLog,
  sql,
  type Timeouts,
} from '../connection/connection-pool.ts';
import { replaceKey, updateKey } from '../keys/key-changes.ts';
import { createKey, findKey, listKeys } from '../keys/key-rows.ts';
import { createPlaygroundKey } from '../keys/playground-keys.ts';
import { revokeKey, revokeKeys } from '../keys/revoke-keys.ts';
import { forgiveDeadLetter, listDeadLetters, retryDeadLetter } from '../ledger/dead-letters.ts';
import { ledgerEpoch } from '../ledger/ledger-reads.ts';
import { listLosses } from '../ledger/loss-rows.ts';
import { verifyLedger } from '../ledger-verification/ledger-verification.ts';
import {
  createOrganization,
  credit,
  findOrganization,
  listOrganizations,
  organizationsById,
  searchOrganizations,
  setSuspended,
  updateOrganization,
} from '../organizations/organization-rows.ts';
import { prepareDatabase } from '../schema/prepare.ts';

/**
 * Changes by operators and the dashboard. A change is in force for every request that begins after
 * its call has resolved (docs/design.md, "Callers in memory"). Each is committed together with its
 * row in the audit log. A call that changes nothing writes no row. `undefined`: there is no such
 * organization or key.
 */
export type Administration = ReturnType<typeof createAdministration>;

export interface AdministrationOptions {
  readonly url: string;
  readonly log: StoreLog;
  readonly timeouts: Timeouts;
  readonly connections: number;
}

export type OpenAdministration = Awaited<ReturnType<typeof openAdministration>>;

/** Connects and prepares the database. Rejects as prepareDatabase() does. */
export async function openAdministration(options: AdministrationOptions) {
  const pool = createPool(options.url, options.connections, options.timeouts, options.log);
  const stopPreparing = await prepareDatabase(options.url, pool, options.log).catch(async (error: unknown) => {
    await pool.end();
    throw error;
  });
  return {
    administration: createAdministration(pool),
    checkpoints: {
      write: (work: CheckpointRun) => writeCheckpoints(pool, work),
      since: (ms: number) => listCheckpoints(pool, ms),
    },
    close: async () => {
      stopPreparing();
      await pool.end();
    },
  };
}

/** On a database that is prepared already. */
export function createAdministration(pool: pg.Pool) {
  const on =
    <Given extends unknown[], Result>(work: (pool: pg.Pool, ...given: Given) => Result) =>
    (...given: Given): Result =>
      work(pool, ...given);
  return {
    createOrganization: on(createOrganization),
    organizations: on(listOrganizations),
    organization: on(findOrganization),
    searchOrganizations: on(searchOrganizations),
    organizationsById: on(organizationsById),
    updateOrganization: on(updateOrganization),
    setSuspended: on(setSuspended),
    credit: on(credit),
    createKey: on(createKey),
    createPlaygroundKey: on(createPlaygroundKey),
    keys: on(listKeys),
    key: on(findKey),
    updateKey: on(updateKey),
    replaceKey: on(replaceKey),
    revokeKey: on(revokeKey),
    revokeKeys: on(revokeKeys),
    verifyLedger: on(verifyLedger),
    unaccountedAmong: on(unaccountedAmong),
    losses: on(listLosses),
    deadLetters: on(listDeadLetters),
    retryDeadLetter: on(retryDeadLetter),
    forgiveDeadLetter: on(forgiveDeadLetter),
    renewLedgerEpoch: on(renewLedgerEpoch),
    ledgerEpoch: on(ledgerEpoch),
  };
}

const UNACCOUNTED_AMONG = sql('unaccounted_among')`
  select id from unnest($1::text[]) given (id)
    where not exists (select from ledger_entries e where e.generation_id = given.id)
      and not exists (select from losses l where l.generation_id = given.id)
      and not exists (select from dead_letters d where d.generation_id = given.id)`;

/** Returns the ids that have neither a charge nor a loss nor a dead letter. */
async function unaccountedAmong(pool: pg.Pool, generationIds: readonly string[]): Promise<readonly string[]> {
  return (await run<{ id: string }>(pool, UNACCOUNTED_AMONG, [generationIds])).map(({ id }) => id);
}

const RENEW_EPOCH = sql('renew_epoch')`update ledger_state set epoch = gen_random_uuid() returning epoch`;

/** After a restore, makes every limit store discard its state of this ledger. Returns the epoch. */
async function renewLedgerEpoch(pool: pg.Pool, by: Actor): Promise<string> {
  return inTransaction(pool, 'begin', async (client) => {
    const { epoch } = await only<{ epoch: string }>(client, RENEW_EPOCH, []);
    await addAuditEvent(client, { action: 'ledger.epoch_renewed', subjectName: epoch, changes: {} }, by);
    return epoch;
  });
}
