import type pg from 'pg';
import { nanoUsdOfCents } from '#core/money.ts';
import { reportFailedTopUp } from '../alerts/organization-messages.ts';
import { inTransaction, run, type Statement, sql } from '../connection/connection-pool.ts';

interface FailedRow {
  readonly organization_id: string;
  readonly amount_cents: string;
  readonly automatic: boolean;
}

/**
 * Builds a statement that ends open top-ups for the reason $1. If one of them is automatic, no
 * other begins until a person acts.
 */
export function failing(name: string, which: string): Statement {
  return sql(name)`
    with failed as (
      update top_ups set state = 'failed', failure = $1 where state = 'open' and ${which}
      returning organization_id, amount_cents, automatic
    ), stopped as (
      update payment_accounts set stopped_at = now(), failure = $1
      where organization_id in (select organization_id from failed where automatic)
    )
    select organization_id, amount_cents, automatic from failed`;
}

/** Runs such a statement, and alerts organizations. Returns the number of ended top-ups. */
export async function failTopUps(pool: pg.Pool, statement: Statement, values: readonly string[]): Promise<number> {
  return inTransaction(pool, 'begin', async (client) => {
    const rows = await run<FailedRow>(client, statement, [...values]);
    for (const { organization_id: organizationId, amount_cents: cents, automatic } of rows) {
      await reportFailedTopUp(client, organizationId, { amountNanoUsd: nanoUsdOfCents(BigInt(cents)), automatic });
    }
    return rows.length;
  });
}
