import type { UsageRowView } from '#contract/money.ts';
import type { Column, Order } from './usage-url.ts';

const compareText = new Intl.Collator('en-US', { numeric: true }).compare;

function compare(column: Column, a: UsageRowView, b: UsageRowView): number {
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
export function sortUsage(rows: readonly UsageRowView[], sort: Column, order: Order): readonly UsageRowView[] {
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
