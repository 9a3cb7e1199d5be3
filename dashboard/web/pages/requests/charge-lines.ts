import type { ChargeView } from '#contract/request-log.ts';
import { formatPico } from '#core/money.ts';
import { byPrice, PRICE_FIELDS, PRICE_KINDS } from '#core/price-kinds.ts';
import type { PricesJson } from '#core/price-table-text.ts';
import { chargeNanoUsd, type Prices, tokensAt } from '#core/pricing.ts';

/** Token kinds with their exact amounts in USD. Kinds without tokens are left out. */
export function chargeLines({ prices, usage }: ChargeView) {
  return PRICE_FIELDS.map((price) => {
    const tokens = tokensAt(price, usage);
    const usd = formatPico(BigInt(tokens) * BigInt(prices[price]));
    return { kind: PRICE_KINDS[price].label, tokens, picoUsd: prices[price], usd };
  }).filter(({ tokens }) => tokens > 0);
}

export function chargeSum(charge: ChargeView) {
  const { prices, usage, costNanoUsd, holdNanoUsd } = charge;
  const picoUsd = PRICE_FIELDS.reduce((sum, price) => sum + BigInt(tokensAt(price, usage)) * BigInt(prices[price]), 0n);
  const roundedNanoUsd = chargeNanoUsd(exactPrices(prices), usage).toString();
  const isCut = BigInt(costNanoUsd) < BigInt(roundedNanoUsd);
  return {
    usd: formatPico(picoUsd),
    roundedNanoUsd,
    /** True if a fraction of a nano-dollar was rounded up. */
    isRounded: BigInt(roundedNanoUsd) * 1000n !== picoUsd,
    ...(isCut && { cutTo: costNanoUsd === holdNanoUsd ? ('hold' as const) : ('balance' as const) }),
  };
}

function exactPrices(prices: PricesJson): Prices {
  return byPrice((price) => BigInt(prices[price]));
}
