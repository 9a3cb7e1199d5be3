import type pg from 'pg';
import type { Actor } from '../audit/audit.ts';
import { listCheckpoints } from '../checkpoints/checkpoint-rows.ts';
import { writeCheckpoints } from '../checkpoints/checkpoint-writer.ts';
import type { CheckpointStore } from '../checkpoints/checkpoints.ts';
import { createPool, inTransaction, run, type StoreLog, type Timeouts } from '../connection/connection-pool.ts';
import type { LossRecord } from '../costs/losses.ts';
import { replaceKey, updateKey } from '../keys/key-changes.ts';
import type {
  CreateKeyResult,
  KeyChange,
  KeyRecord,
  KeyReplacement,
  NewKey,
  ReplaceKeyResult,
  UpdateKeyResult,
} from '../keys/key-records.ts';
import { createKey, findKey, listKeys } from '../keys/key-rows.ts';
import { createPlaygroundKey, type Member } from '../keys/playground-keys.ts';
import { type Revocation, type RevokeKeysResult, revokeKey, revokeKeys } from '../keys/revoke-keys.ts';
import type { DeadLetter, ResolvedLetter } from '../ledger/dead-letter-store.ts';
import { forgiveDeadLetter, listDeadLetters, retryDeadLetter } from '../ledger/dead-letters.ts';
import { ledgerEpoch } from '../ledger/ledger-reads.ts';
import { listLosses } from '../ledger/loss-rows.ts';
import type { LedgerReport, VerifyOptions } from '../ledger-verification/ledger-report.ts';
import { verifyLedger } from '../ledger-verification/ledger-verification.ts';
import type {
  CreateOrganizationResult,
  CreditEntry,
  CreditResult,
  NewOrganization,
  OrganizationChange,
  OrganizationQuery,
  OrganizationRecord,
} from '../organizations/organization-records.ts';
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
 * row in the audit log. A call that changes nothing writes no row.
 */
export interface Administration {
  /** Commits organization and opening credit together. */
  createOrganization(
    organization: NewOrganization,
    by: Actor,
    openingCredit?: CreditEntry,
  ): Promise<CreateOrganizationResult>;
  /** Oldest first. */
  organizations(): Promise<readonly OrganizationRecord[]>;
  /** Newest first. */
  searchOrganizations(query: OrganizationQuery): Promise<readonly OrganizationRecord[]>;
  /** Lists those of these organizations that exist, newest first. */
  organizationsById(ids: readonly string[]): Promise<readonly OrganizationRecord[]>;
  /** `undefined`, here and below: there is no such organization or key. */
  organization(id: string): Promise<OrganizationRecord | undefined>;
  updateOrganization(id: string, change: OrganizationChange, by: Actor): Promise<OrganizationRecord | undefined>;
  /** Suspending twice keeps the first time. */
  setSuspended(id: string, suspended: boolean, by: Actor): Promise<OrganizationRecord | undefined>;
  credit(organizationId: string, entry: CreditEntry, by: Actor): Promise<CreditResult>;
  /** A user who creates a key is kept as `createdBy`. */
  createKey(key: NewKey, by: Actor): Promise<CreateKeyResult>;
  /**
   * Makes the key of a member's playground, with limits no higher than the organization's. Revokes
   * the one before it.
   */
  createPlaygroundKey(key: NewKey, by: Member): Promise<KeyRecord | undefined>;
  /**
   * Lists keys without those of playgrounds, oldest first; of the revoked ones the newest
   * `mostRevoked`, by default all.
   */
  keys(organizationId: string, mostRevoked?: number): Promise<readonly KeyRecord[] | undefined>;
  /** Without an organization, the key of any. */
  key(organizationId: string | undefined, keyId: string): Promise<KeyRecord | undefined>;
  updateKey(organizationId: string, keyId: string, change: KeyChange, by: Actor): Promise<UpdateKeyResult>;
  /**
   * Creates a key with the settings of the old one, which is revoked now or later, as `replacement`
   * says.
   */
  replaceKey(organizationId: string, keyId: string, replacement: KeyReplacement, by: Actor): Promise<ReplaceKeyResult>;
  /** Revoking twice keeps the first time. With an organization, only a key of it is found. */
  revokeKey(id: string, by: Actor, organizationId?: string): Promise<KeyRecord | undefined>;
  /** Revokes several keys in one transaction, all of them or none. */
  revokeKeys(revocation: Revocation, by: Actor): Promise<RevokeKeysResult>;
  verifyLedger(options?: VerifyOptions): Promise<LedgerReport>;
  /** Finds those of these generations that have no charge, no loss and no dead letter. */
  unknownAmong(generationIds: readonly string[]): Promise<readonly string[]>;
  /** Lists losses since then, oldest first. */
  losses(sinceMs: number): Promise<readonly LossRecord[]>;
  /** Lists undecided dead letters, oldest first. */
  deadLetters(): Promise<readonly DeadLetter[]>;
  /** Charges it now. */
  retryDeadLetter(generationId: string, by: Actor): Promise<ResolvedLetter>;
  /** Books it as a loss. */
  forgiveDeadLetter(generationId: string, by: Actor): Promise<ResolvedLetter>;
  /**
   * After a restore: makes every limit store discard its state of this ledger. Returns the new
   * epoch.
   */
  renewLedgerEpoch(): Promise<string>;
  ledgerEpoch(): Promise<string>;
}

export interface AdministrationOptions {
  readonly url: string;
  readonly log: StoreLog;
  readonly timeouts: Timeouts;
  readonly connections: number;
}

export interface OpenAdministration {
  readonly administration: Administration;
  readonly checkpoints: CheckpointStore;
  close(): Promise<void>;
}

/** Connects and prepares the database. Rejects as prepareDatabase() does. */
export async function openAdministration(options: AdministrationOptions): Promise<OpenAdministration> {
  const pool = createPool(options.url, options.connections, options.timeouts, options.log);
  const stopPreparing = await prepareDatabase(options.url, pool, options.log).catch(async (error: unknown) => {
    await pool.end();
    throw error;
  });
  return {
    administration: createAdministration(pool),
    checkpoints: {
      write: (work) => writeCheckpoints(pool, work),
      since: (ms) => listCheckpoints(pool, ms),
    },
    close: async () => {
      stopPreparing();
      await pool.end();
    },
  };
}

function createAdministration(pool: pg.Pool): Administration {
  return {
    createOrganization: (organization, by, opening) => createOrganization(pool, organization, by, opening),
    organizations: () => listOrganizations(pool),
    organization: (id) => findOrganization(pool, id),
    searchOrganizations: (query) => searchOrganizations(pool, query),
    organizationsById: (ids) => organizationsById(pool, ids),
    updateOrganization: (id, change, by) => updateOrganization(pool, id, change, by),
    setSuspended: (id, suspended, by) => setSuspended(pool, id, suspended, by),
    credit: (organizationId, entry, by) => credit(pool, organizationId, entry, by),
    createKey: (key, by) => createKey(pool, key, by),
    createPlaygroundKey: (key, by) => createPlaygroundKey(pool, key, by),
    keys: (organizationId, mostRevoked) => listKeys(pool, organizationId, mostRevoked),
    key: (organizationId, keyId) => findKey(pool, organizationId, keyId),
    updateKey: (organizationId, keyId, change, by) => updateKey(pool, organizationId, keyId, change, by),
    replaceKey: (organizationId, keyId, replacement, by) => replaceKey(pool, organizationId, keyId, replacement, by),
    revokeKey: (id, by, organizationId) => revokeKey(pool, id, by, organizationId),
    revokeKeys: (revocation, by) => revokeKeys(pool, revocation, by),
    verifyLedger: (options) => verifyLedger(pool, options),
    unknownAmong: async (generationIds) =>
      (await run<{ id: string }>(pool, UNKNOWN_AMONG, [generationIds])).map(({ id }) => id),
    losses: (sinceMs) => listLosses(pool, sinceMs),
    deadLetters: () => listDeadLetters(pool),
    retryDeadLetter: (generationId, by) => retryDeadLetter(pool, generationId, by),
    forgiveDeadLetter: (generationId, by) => forgiveDeadLetter(pool, generationId, by),
    renewLedgerEpoch: async () => {
      const rows = await inTransaction(pool, 'begin', (client) => run<{ epoch: string }>(client, RENEW_EPOCH, []));
      return String(rows[0]?.epoch);
    },
    ledgerEpoch: () => ledgerEpoch(pool),
  };
}

const UNKNOWN_AMONG = {
  name: 'unknown_among',
  text: `select id from unnest($1::text[]) given (id)
    where not exists (select from ledger_entries e where e.generation_id = given.id)
      and not exists (select from losses l where l.generation_id = given.id)
      and not exists (select from dead_letters d where d.generation_id = given.id)`,
};

const RENEW_EPOCH = {
  name: 'renew_epoch',
  text: 'update ledger_state set epoch = gen_random_uuid() returning epoch',
};
