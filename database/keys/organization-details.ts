import type pg from 'pg';
import type { UtcDay } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import { run, sql } from '../connection/connection-pool.ts';
import { IS_ACTIVE } from './key-lookup.ts';

/** Details of an organization in the operator's list. */
export interface OrganizationDetails {
  readonly spentTodayNanoUsd: NanoUsd;
  /** Keys that are neither revoked nor expired, without playground keys. */
  readonly usableKeys: number;
}

const DETAILS = sql('organization_details')`
  select o.id, coalesce(s.spent_nano_usd, 0) as spent,
      (select count(*)::integer from keys k
        where k.organization_id = o.id and not k.playground and ${IS_ACTIVE}) as usable_keys
    from unnest($1::text[]) as o (id)
    left join organization_daily_spend s on s.organization_id = o.id and s.day = date '1970-01-01' + $2::integer`;

/** Returns details, by organization id. */
export async function organizationDetails(
  pool: pg.Pool,
  ids: readonly string[],
  today: UtcDay,
): Promise<ReadonlyMap<string, OrganizationDetails>> {
  const rows = await run<{ id: string; spent: string; usable_keys: number }>(pool, DETAILS, [ids, today]);
  return new Map(
    rows.map(({ id, spent, usable_keys: usableKeys }) => [id, { spentTodayNanoUsd: BigInt(spent), usableKeys }]),
  );
}
