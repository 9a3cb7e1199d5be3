import type pg from 'pg';
import { listCheckpoints } from '#database/checkpoints/checkpoint-rows.ts';
import { replaceKey, updateKey } from '#database/keys/key-changes.ts';
import { createKey, findKey, listKeys } from '#database/keys/key-rows.ts';
import { createPlaygroundKey } from '#database/keys/playground-keys.ts';
import { revokeKey, revokeKeys } from '#database/keys/revoke-keys.ts';
import { forgiveDeadLetter, listDeadLetters, retryDeadLetter } from '#database/ledger/dead-letters.ts';
import { ledgerEpoch, renewLedgerEpoch } from '#database/ledger/ledger-epoch.ts';
import { listLosses } from '#database/ledger/loss-rows.ts';
import { verifyLedger } from '#database/ledger-verification/ledger-verification.ts';
import {
  createOrganization,
  creditOrganization,
  findOrganization,
  listOrganizations,
  organizationsById,
  searchOrganizations,
  setSuspended,
  updateOrganization,
} from '#database/organizations/organization-rows.ts';

/** Changes as operators and the dashboard make them, for tests, all with one pool. */
export type Administration = ReturnType<typeof createAdministration>;

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
    credit: on(creditOrganization),
    createKey: on(createKey),
    createPlaygroundKey: on(createPlaygroundKey),
    keys: on(listKeys),
    key: on(findKey),
    updateKey: on(updateKey),
    replaceKey: on(replaceKey),
    revokeKey: on(revokeKey),
    revokeKeys: on(revokeKeys),
    verifyLedger: on(verifyLedger),
    losses: on(listLosses),
    deadLetters: on(listDeadLetters),
    retryDeadLetter: on(retryDeadLetter),
    forgiveDeadLetter: on(forgiveDeadLetter),
    renewLedgerEpoch: on(renewLedgerEpoch),
    ledgerEpoch: on(ledgerEpoch),
    checkpoints: on(listCheckpoints),
  };
}
