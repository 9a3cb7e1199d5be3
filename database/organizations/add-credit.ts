import type pg from 'pg';
import type { Actor } from '../audit/audit.ts';
import { changesBetween } from '../audit/audit-changes.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { only, run, sql } from '../connection/connection-pool.ts';
import { isTaken } from '../connection/unavailable.ts';
import type { CreditEntry, CreditResult, OrganizationRecord, ReferenceElsewhere } from './organization-records.ts';

const CREDIT = sql('add_credit')`select * from add_credit($1, $2, $3, $4, $5)`;
const OWNER_OF_REFERENCE = sql('owner_of_credit_reference')`
  select organization_id from credit_references where reference = $1`;
const MAX_LEDGER_ACTOR = 200;

/**
 * Adds credit to an existing organization. Throws if the balance would leave its range, or if the
 * reference belongs to another organization. The transaction has failed then.
 */
export async function addCredit(
  client: pg.PoolClient,
  { id, name }: Pick<OrganizationRecord, 'id' | 'name'>,
  { amountNanoUsd, note, reference }: CreditEntry,
  by: Actor,
): Promise<CreditResult> {
  const row = await only<{ applied: boolean; amount_nano_usd: string; balance_nano_usd: string }>(client, CREDIT, [
    id,
    amountNanoUsd,
    note ?? null,
    reference ?? null,
    by.actor.slice(0, MAX_LEDGER_ACTOR),
  ]);
  const balanceNanoUsd = BigInt(row.balance_nano_usd);
  if (!row.applied) return { kind: 'repeated', amountNanoUsd: BigInt(row.amount_nano_usd), balanceNanoUsd };
  const changes = changesBetween(
    { balanceNanoUsd: balanceNanoUsd - amountNanoUsd },
    { balanceNanoUsd, note, reference },
  );
  const subject = { organizationId: id, subjectId: id, subjectName: name };
  await addAuditEvent(client, { action: 'organization.credited', ...subject, changes }, by);
  return { kind: 'applied', balanceNanoUsd };
}

/** Converts an error of addCredit() to a refusal, after its transaction. Rethrows other errors. */
export async function refusalOfReference(pool: pg.Pool, error: unknown, reference = ''): Promise<ReferenceElsewhere> {
  if (!isTaken(error, 'credit_references_pkey')) throw error;
  const [owner] = await run<{ organization_id: string }>(pool, OWNER_OF_REFERENCE, [reference]);
  return { kind: 'reference_elsewhere', organizationId: String(owner?.organization_id) };
}
