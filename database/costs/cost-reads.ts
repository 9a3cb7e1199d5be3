import type pg from 'pg';
import { idFloor } from '#core/ids.ts';
import { recordOf } from '../connection/connection-pool.ts';
import { bookedCosts, SUMS_OF_BOOKED } from './booked-costs.ts';
import type { CostGroup, CostQuery, CostRow } from './costs.ts';
import { readWhole } from './read-whole.ts';

/** Sorts after every generation. */
const AFTER_ALL_GENERATIONS = 'gen-8';

const COLUMN: Readonly<Record<CostGroup, string>> = {
  model: 'model',
  provider: 'provider',
  organization: 'organization_id',
};

/** Reports costs, margin and losses, ordered by revenue. */
export async function costReport(pool: pg.Pool, query: CostQuery): Promise<readonly CostRow[]> {
  const { sinceMs, untilMs, by } = query;
  const until = untilMs === undefined ? AFTER_ALL_GENERATIONS : firstId(untilMs);
  const rows = await readWhole<BookedRow>(pool, {
    text: `
      select subject, ${SUMS_OF_BOOKED}
      from (${bookedCosts({ from: '$1', to: '$2' }, () => [`${COLUMN[by]} as subject`])}) as booked
      group by subject order by "revenueNanoUsd" desc, subject`,
    values: [firstId(sinceMs), until],
  });
  return rows.map(({ knownCost: _, knownRevenue: __, ...row }) =>
    recordOf<CostRow>(row, ['revenueNanoUsd', 'listNanoUsd', 'costNanoUsd', 'lossesNanoUsd']),
  );
}

interface BookedRow {
  readonly knownCost: string;
  readonly knownRevenue: string;
}

function firstId(ms: number): string {
  return idFloor('gen', Math.max(0, ms));
}
