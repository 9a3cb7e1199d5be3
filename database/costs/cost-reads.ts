import type pg from 'pg';
import { DAY_MS } from '#core/clock.ts';
import { idFloor } from '#core/ids.ts';
import { inTransaction, recordOf } from '../connection/connection-pool.ts';
import { PATIENTLY, readPatiently } from '../connection/patient-session.ts';
import { bookedCosts, SUMS_OF_BOOKED } from './booked-costs.ts';
import { costRange } from './cost-days.ts';
import type { CostGroup, CostQuery, CostRow, ProviderUsageQuery, ProviderUsageRow } from './costs.ts';

const COLUMN: Readonly<Record<CostGroup, string>> = {
  model: 'model',
  provider: 'provider',
  organization: 'organization_id',
};

/** Reports costs, margin and losses, ordered by revenue. */
export async function costReport(pool: pg.Pool, query: CostQuery): Promise<readonly CostRow[]> {
  const { sinceMs, untilMs, by } = query;
  const text = `
    select subject, ${SUMS_OF_BOOKED}
    from (${bookedCosts(() => [`${COLUMN[by]} as subject`])}) as booked
    group by subject order by "revenueNanoUsd" desc, subject`;
  const rows = await readWhole<BookedRow>(pool, text, await costRange(pool, sinceMs, untilMs));
  return rows.map(({ knownCost: _, knownRevenue: __, ...row }) =>
    recordOf<CostRow>(row, ['revenueNanoUsd', 'listNanoUsd', 'costNanoUsd', 'lossesNanoUsd']),
  );
}

interface BookedRow {
  readonly knownCost: string;
  readonly knownRevenue: string;
}

/** Selects partitions by id. Attempts begin within `timeouts.total` (one hour) of the request. */
const PROVIDER_USAGE = `
  select (asked_at at time zone 'UTC')::date - date '1970-01-01' as day, provider_model as model, reason, token_source as source,
    count(*)::float8 as calls, sum(prompt_tokens)::float8 as "promptTokens", sum(cached_tokens)::float8 as "cachedTokens",
    sum(completion_tokens)::float8 as "completionTokens"
  from provider_calls
  where generation_id >= $1 and generation_id < $2 and asked_at >= to_timestamp($3::double precision / 1000)
    and asked_at < to_timestamp($4::double precision / 1000) and provider_model = any ($5::text[]) and ($6::text is null or provider = $6)
  group by 1, 2, 3, 4 order by 1, 2, 3 nulls first, 4`;

export async function providerUsage(pool: pg.Pool, query: ProviderUsageQuery): Promise<readonly ProviderUsageRow[]> {
  const [sinceMs, untilMs] = [query.firstDay * DAY_MS, (query.lastDay + 1) * DAY_MS];
  const ids = [idFloor('gen', sinceMs - DAY_MS), idFloor('gen', untilMs)];
  const values = [...ids, sinceMs, untilMs, query.models, query.provider ?? null];
  const rows = await readWhole(pool, PROVIDER_USAGE, values);
  return rows.map((row) => recordOf(row, []));
}

/** Runs a query in a snapshot, planned for whole tables. Rejects with StoreUnavailable. */
async function readWhole<R extends object>(pool: pg.Pool, text: string, values: unknown[]): Promise<R[]> {
  return inTransaction(pool, `begin read only; ${PATIENTLY}`, (client) => readPatiently<R>(client, text, values));
}
