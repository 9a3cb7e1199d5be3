import type { UsageGroupName, UsageRowView } from '#contract/money.ts';
import { present } from '#core/present.ts';
import { type DailySeries, dailySeries } from '../../charts/daily-series.ts';
import { dollars } from '../../format/format.ts';
import type { Order } from '../../reports/sorting.ts';
import { USAGE_GROUPS, type UsageState } from '../searches.ts';

export type UsageColumn = NonNullable<UsageState['sort']>;
export type UsageMeasure = NonNullable<UsageState['show']>;

export function chosenGroups({ by = 'model' }: UsageState): readonly UsageGroupName[] {
  const names = by.split(',');
  return USAGE_GROUPS.filter((name) => names.includes(name));
}

/**
 * In a fixed order, so that equal choices have equal URLs. The last group stays: a table needs
 * rows.
 */
export function toggleGroup(search: UsageState, group: UsageGroupName): UsageState {
  const chosen = chosenGroups(search);
  const groups = USAGE_GROUPS.filter((name) => (name === group ? !chosen.includes(name) : chosen.includes(name)));
  if (groups.length === 0) return search;
  const { sort, order, ...rest } = search;
  // If the sorted column goes away, the default order applies.
  const stays =
    sort === undefined || !USAGE_GROUPS.some((name) => name === sort) || groups.some((name) => name === sort);
  return {
    ...rest,
    by: groups.join(','),
    ...(stays ? present({ sort, order }) : { sort: undefined, order: undefined }),
  };
}

/** Newest first if grouped by day, else by cost. */
export function usageColumns(groups: readonly UsageGroupName[]) {
  return { usual: groups.includes('day') ? 'day' : 'cost', names: ['model', 'key'] } as const;
}

const compareText = new Intl.Collator('en-US', { numeric: true }).compare;

function compare(column: UsageColumn, a: UsageRowView, b: UsageRowView): number {
  switch (column) {
    case 'day':
      return compareText(a.day ?? '', b.day ?? '');
    case 'model':
      return compareText(a.model ?? '', b.model ?? '');
    case 'key':
      return compareText(a.keyName ?? a.keyId ?? '', b.keyName ?? b.keyId ?? '');
    case 'requests':
      return a.requests - b.requests;
    case 'input':
      return a.promptTokens - b.promptTokens;
    case 'cached':
      return a.cachedTokens - b.cachedTokens;
    case 'cache-writes':
      return a.cacheWriteTokens - b.cacheWriteTokens;
    case 'output':
      return a.completionTokens - b.completionTokens;
    case 'reasoning':
      return a.reasoningTokens - b.reasoningTokens;
    case 'cost':
      return compareAmounts(BigInt(a.costNanoUsd), BigInt(b.costNanoUsd));
  }
}

function compareAmounts(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Equal rows are sorted newest first, then by cost, so that the order is total. */
export function sortUsage(rows: readonly UsageRowView[], sort: UsageColumn, order: Order): readonly UsageRowView[] {
  const direction = order === 'asc' ? 1 : -1;
  return rows.toSorted(
    (a, b) =>
      direction * compare(sort, a, b) ||
      compare('day', b, a) ||
      compare('cost', b, a) ||
      compare('model', a, b) ||
      compare('key', a, b),
  );
}

/** Daily series by model, key or both, the most expensive first. */
export function usageSeries(
  rows: readonly UsageRowView[],
  days: readonly string[],
  measure: UsageMeasure,
): readonly DailySeries[] {
  const values = rows.map((row) => ({
    day: row.day,
    id: [row.model, row.keyId].filter((part) => part !== undefined).join(' '),
    label: labelOf(row),
    value: measured(row, measure),
    weight: BigInt(row.costNanoUsd),
  }));
  return dailySeries(values, days);
}

function labelOf({ model, keyId, keyName }: UsageRowView): string {
  const parts = [model, keyName ?? keyId].filter((part) => part !== undefined);
  return parts.length === 0 ? 'All' : parts.join(' · ');
}

function measured(row: UsageRowView, measure: UsageMeasure): number {
  switch (measure) {
    case 'cost':
      return dollars(row.costNanoUsd);
    case 'requests':
      return row.requests;
    case 'tokens':
      return row.promptTokens + row.completionTokens;
  }
}
