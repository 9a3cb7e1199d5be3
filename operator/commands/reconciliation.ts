import { type UtcDay, utcDayText } from '#core/clock.ts';
import type { ProviderUsageRow } from '#database/costs/costs.ts';
import { type BilledUsage, KINDS, type Kind } from './provider-bill.ts';

/** Tokens of one kind: the provider's count and the gateway's. */
export interface Compared {
  readonly provider: number;
  /** Charged and uncharged tokens together. */
  readonly gateway: number;
  readonly charged: number;
  /** The part that the provider did not report: it was counted by a tokenizer or estimated. */
  readonly counted: number;
}

export type UnchargedTokens = Readonly<Record<string, { readonly calls: number } & Readonly<Record<Kind, number>>>>;

/** A day and model whose counts differ by more than 1 %. */
export interface Difference extends Readonly<Record<Kind, Compared>> {
  readonly date: string;
  readonly model: string;
  readonly differs: readonly Kind[];
  readonly uncharged: UnchargedTokens;
}

export interface Reconciliation {
  /** Number of pairs of day and model that were compared. */
  readonly compared: number;
  readonly differences: readonly Difference[];
  /** Uncharged tokens of all compared pairs, by reason. */
  readonly uncharged: UnchargedTokens;
}

/**
 * Compares every day from the first to the last in the file, for every model in the file. A day
 * without a line for a model counts as zero usage at the provider.
 */
export function reconcile(billed: readonly BilledUsage[], usage: readonly ProviderUsageRow[]): Reconciliation {
  const bills = groupByDay(billed);
  const ours = groupByDay(usage);
  const differences: Difference[] = [];
  const keys = [...new Set([...bills.keys(), ...ours.keys()])].sort();
  for (const key of keys) {
    const difference = compare(bills.get(key) ?? [], ours.get(key) ?? []);
    if (difference) differences.push(difference);
  }
  return { compared: keys.length, differences, uncharged: unchargedOf(usage) };
}

function groupByDay<T extends { readonly day: UtcDay; readonly model: string }>(items: readonly T[]): Map<string, T[]> {
  // Model names have no spaces.
  return Map.groupBy(items, ({ day, model }) => `${utcDayText(day)} ${model}`);
}

function compare(billed: readonly BilledUsage[], usage: readonly ProviderUsageRow[]): Difference | undefined {
  const [one] = [...billed, ...usage];
  if (one === undefined) return undefined;
  const kinds = {
    input_tokens: compared(billed, usage, 'input_tokens'),
    cached_tokens: compared(billed, usage, 'cached_tokens'),
    output_tokens: compared(billed, usage, 'output_tokens'),
  };
  const differs = KINDS.filter((kind) => isFarApart(kinds[kind]));
  if (differs.length === 0) return undefined;
  return { date: utcDayText(one.day), model: one.model, differs, ...kinds, uncharged: unchargedOf(usage) };
}

function compared(billed: readonly BilledUsage[], usage: readonly ProviderUsageRow[], kind: Kind): Compared {
  const sum = (rows: readonly ProviderUsageRow[]) => rows.reduce((total, row) => total + tokensOf(row)[kind], 0);
  return {
    provider: billed.reduce((total, row) => total + row[kind], 0),
    gateway: sum(usage),
    charged: sum(usage.filter(({ reason }) => reason === undefined)),
    counted: sum(usage.filter(({ source }) => source !== 'reported')),
  };
}

/** True if the counts differ by more than 1 % of the provider's. */
function isFarApart({ provider, gateway }: Compared): boolean {
  return Math.abs(provider - gateway) * 100 > provider;
}

function unchargedOf(usage: readonly ProviderUsageRow[]): UnchargedTokens {
  const sums: Record<string, { calls: number } & Record<Kind, number>> = {};
  for (const row of usage) {
    if (row.reason === undefined) continue;
    const sum = sums[row.reason] ?? { calls: 0, input_tokens: 0, cached_tokens: 0, output_tokens: 0 };
    sums[row.reason] = sum;
    sum.calls += row.calls;
    for (const kind of KINDS) sum[kind] += tokensOf(row)[kind];
  }
  return sums;
}

function tokensOf({ promptTokens, cachedTokens, completionTokens }: ProviderUsageRow): Record<Kind, number> {
  return { input_tokens: promptTokens, cached_tokens: cachedTokens, output_tokens: completionTokens };
}
