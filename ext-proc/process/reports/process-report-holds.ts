import type { ReportedHolds } from '#database/process-reports/report.ts';
import type { Hold } from '../../limits/limit-store.ts';

/** Keeps a report below a few hundred kilobytes. */
const MOST_ORGANIZATIONS = 2_000;

export function sumHolds(holds: readonly Hold[], most: number = MOST_ORGANIZATIONS): ReportedHolds {
  const sums = new Map<string, { heldNanoUsd: bigint; count: number }>();
  let total = 0n;
  for (const { organizationId, holdNanoUsd } of holds) {
    const sum = sums.get(organizationId) ?? { heldNanoUsd: 0n, count: 0 };
    sum.heldNanoUsd += holdNanoUsd;
    sum.count += 1;
    total += holdNanoUsd;
    sums.set(organizationId, sum);
  }
  const largest =
    sums.size <= most
      ? [...sums]
      : [...sums]
          .sort(([, a], [, b]) => (a.heldNanoUsd < b.heldNanoUsd ? 1 : a.heldNanoUsd > b.heldNanoUsd ? -1 : 0))
          .slice(0, most);
  return {
    totalNanoUsd: String(total),
    count: holds.length,
    organizations: Object.fromEntries(
      largest.map(([id, { heldNanoUsd, count }]) => [id, [String(heldNanoUsd), count] as const]),
    ),
    leftOut: sums.size - largest.length,
  };
}
