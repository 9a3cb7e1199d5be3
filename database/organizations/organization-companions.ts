import type pg from 'pg';
import type { UtcDay } from '../../core/clock.ts';
import type { NanoUsd } from '../../core/money.ts';
import { run, type Statement } from '../connection/connection-pool.ts';

/** What an operator sees beside an organization in a list of many. */
export interface OrganizationCompanions {
  readonly spentTodayNanoUsd: NanoUsd;
  /** Neither revoked nor expired. */
  readonly usableKeys: number;
}

const COMPANIONS: Statement = {
  name: 'organization_companions',
  text: `select o.id, coalesce(s.spent_nano_usd, 0) as spent,
      (select count(*)::integer from keys k
        where k.organization_id = o.id and coalesce(k.revoked_at > now(), true) and coalesce(k.expires_at > now(), true)) as usable_keys
    from unnest($1::text[]) as o (id)
    left join organization_daily_spend s on s.organization_id = o.id and s.day = date '1970-01-01' + $2::integer`,
};

/** By organization id. */
export async function organizationCompanions(
  pool: pg.Pool,
  ids: readonly string[],
  today: UtcDay,
): Promise<ReadonlyMap<string, OrganizationCompanions>> {
  const rows = await run<{ id: string; spent: string; usable_keys: number }>(pool, COMPANIONS, [ids, today]);
  return new Map(
    rows.map(({ id, spent, usable_keys: usableKeys }) => [id, { spentTodayNanoUsd: BigInt(spent), usableKeys }]),
  );
}
