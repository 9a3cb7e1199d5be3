import type pg from 'pg';
import type { ChargeView } from '#contract/request-log.ts';
import { records, sql } from '../connection/connection-pool.ts';
import { PRICES_JSON, USAGE_JSON } from './usage-columns.ts';

const FIND_CHARGE = sql('find_charge')`
    select ${USAGE_JSON} as usage, usage_counted as "usageCounted", ${PRICES_JSON} as prices, priced_tier as "pricedTier",
      priced_above_tokens::float8 as "pricedAboveTokens", service_tier as "serviceTier", cost_nano_usd as "costNanoUsd",
      hold_nano_usd as "holdNanoUsd"
    from generations where id = $1 and organization_id = $2`;

/** Reads everything from which a charge was computed. */
export async function findCharge(
  pool: pg.Pool,
  organizationId: string,
  generationId: string,
): Promise<ChargeView | undefined> {
  return (await records<ChargeView>(pool, FIND_CHARGE, [generationId, organizationId]))[0];
}
