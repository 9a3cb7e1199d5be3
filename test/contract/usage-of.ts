import type { Ledger, UsageQuery, UsageRow } from '#database/ledger/ledger.ts';

/** The rows of all pages. */
export async function usageOf(ledger: Pick<Ledger, 'usage'>, query: UsageQuery): Promise<readonly UsageRow[]> {
  const rows: UsageRow[] = [];
  await ledger.usage(query, (page) => {
    rows.push(...page);
    return true;
  });
  return rows;
}
