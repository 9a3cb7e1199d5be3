import type { ReportedModel } from '../../../database/process-reports/report.ts';
import type { PriceTableView } from '../../contract/money.ts';

/** The former release charges cache writes at the price for input, and has one entry. */
export function priceTableView({
  prices,
  above = [],
  serviceTiers = {},
}: Pick<ReportedModel, 'prices' | 'above' | 'serviceTiers'>): PriceTableView {
  const { inputPicoUsd } = prices;
  const writes = { cacheWritePicoUsd: inputPicoUsd, cacheWrite1hPicoUsd: inputPicoUsd };
  return { prices: { ...writes, ...prices }, above, serviceTiers };
}
