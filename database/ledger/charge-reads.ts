import type pg from 'pg';
import type { ChargeView } from '#contract/request-log.ts';
import { present } from '#core/present.ts';
import { run, sql } from '../connection/connection-pool.ts';
import { PRICE_COLUMN_LIST, type PriceRow, pricesOf, type TokenRow, tokenList, usageOf } from './usage-columns.ts';

const FIND_CHARGE = sql('find_charge')`
    select ${tokenList()}, ${PRICE_COLUMN_LIST}, usage_counted, service_tier, priced_tier, priced_above_tokens, cost_nano_usd, hold_nano_usd
    from generations where id = $1 and organization_id = $2`;

type ChargeRow = TokenRow &
  PriceRow & {
    readonly usage_counted: boolean;
    readonly service_tier: string | null;
    readonly priced_tier: string | null;
    readonly priced_above_tokens: string | null;
    readonly cost_nano_usd: string;
    readonly hold_nano_usd: string;
  };

/** Everything that a charge was made from. */
export async function findCharge(
  pool: pg.Pool,
  organizationId: string,
  generationId: string,
): Promise<ChargeView | undefined> {
  const [row] = await run<ChargeRow>(pool, FIND_CHARGE, [generationId, organizationId]);
  if (row === undefined) return undefined;
  return {
    usage: usageOf(row),
    usageCounted: row.usage_counted,
    prices: pricesOf(row),
    ...present({
      pricedTier: row.priced_tier ?? undefined,
      pricedAboveTokens: row.priced_above_tokens === null ? undefined : Number(row.priced_above_tokens),
      serviceTier: row.service_tier ?? undefined,
    }),
    costNanoUsd: row.cost_nano_usd,
    holdNanoUsd: row.hold_nano_usd,
  };
}
