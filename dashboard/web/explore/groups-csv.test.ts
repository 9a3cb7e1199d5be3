import { expect, it } from 'vitest';
import { groupsCsv } from './groups-csv.ts';

const figures = (requests: number, dollars: number) => ({
  ...{ requests, failures: requests, costNanoUsd: String(dollars * 1e9), promptTokens: requests, completionTokens: 0 },
  ...{ cachedTokens: 0, firstEventP50Ms: 7 },
});

it('counts the groups that are not listed, and the total', () => {
  const listed = Array.from({ length: 100 }, (_, i) => ({ id: `k${i}`, label: `Key ${i}`, totals: figures(2, 1) }));
  const explored = { stepMs: 1, stepStartsMs: [], series: [], by: 'key', rank: 'cost' } as const;
  const lines = groupsCsv({ ...explored, groups: listed, groupCount: 301, totals: figures(500, 120) });
  expect(lines.map((line) => line.trim()).filter((_, i) => i < 2 || i > 100)).toEqual([
    'key,id,cost_usd,requests,errors,tokens,cached_share,first_event_p50_ms,first_event_p95_ms',
    'Key 0,k0,1,2,2,2,0,7,',
    'Other,,20,300,300,300,0,,',
    'Total,,120,500,500,500,0,7,',
  ]);
  expect(groupsCsv({ ...explored, groups: listed, groupCount: 100, totals: figures(200, 100) })).toHaveLength(102);
});
