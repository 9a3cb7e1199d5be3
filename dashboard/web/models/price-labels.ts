import type { PricesView, PriceTableView, PriceWindowView, TierPricesView } from '#contract/money.ts';
import { byPrice, PRICE_KINDS } from '#core/price-kinds.ts';
import { formatCount } from '../format/format-number.ts';

/** Headings of the prices, in the order in which they are shown. */
export const PRICE_LABELS = byPrice((field): string => PRICE_KINDS[field].heading);

export interface LabelledPrices {
  readonly label: string;
  readonly prices: PricesView;
}

/** All price entries of a table, those of the default tier first. */
export function priceEntries(table: PriceTableView): readonly LabelledPrices[] {
  return [
    ...entriesOf(undefined, table),
    ...Object.entries(table.serviceTiers).flatMap(([tier, prices]) => entriesOf(tier, prices)),
  ];
}

function entriesOf(tier: string | undefined, { prices, above }: TierPricesView): readonly LabelledPrices[] {
  return [
    { label: priceEntryLabel(tier, undefined), prices },
    ...above.map((one) => ({ label: priceEntryLabel(tier, one.inputTokens), prices: one.prices })),
  ];
}

/** `Service tier flex, prompts above 272,000 tokens`. */
export function priceEntryLabel(tier: string | undefined, aboveTokens: number | undefined): string {
  const above = aboveTokens === undefined ? undefined : `rompts above ${formatCount(aboveTokens)} tokens`;
  if (tier === undefined) return above === undefined ? 'Base prices' : `P${above}`;
  return above === undefined ? `Service tier ${tier}` : `Service tier ${tier}, p${above}`;
}

const DAYS_OF_A_WEEK = 7;

/** `16:30-00:30 UTC, mon, fri, not on 2026-12-25`. */
export function windowLabel({ utc, days, except }: Omit<PriceWindowView, 'priceTable'>): string {
  const onDays = days.length === DAYS_OF_A_WEEK ? '' : `, ${days.join(', ')}`;
  return `${utc} UTC${onDays}${except.length === 0 ? '' : `, not on ${except.join(', ')}`}`;
}
