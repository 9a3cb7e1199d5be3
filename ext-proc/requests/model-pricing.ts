import type { Model } from '#core/config/gateway-config.ts';
import { windowHours } from '#core/config/price-schedule.ts';
import { formatPico } from '#core/money.ts';
import { PRICE_FIELDS, PRICE_KINDS } from '#core/price-kinds.ts';
import { CHANGES_SHOWN_MS, changesBetween, type PriceWindow, periodAt } from '#core/price-schedule.ts';
import type { Prices, PriceTable, TierPrices } from '#core/pricing.ts';

type Json = Readonly<Record<string, unknown>>;

/** `pricing`: numbers in USD per million tokens, strings in USD per token (OpenRouter's names). */
export function modelPricing({ priceTable, schedule }: Pick<Model, 'priceTable' | 'schedule'>, atMs: number): Json {
  const { prices } = priceTable;
  const windows = schedule === undefined ? [] : periodAt(schedule, atMs).windows;
  const changes = schedule === undefined ? [] : changesBetween(schedule, atMs, atMs + CHANGES_SHOWN_MS);
  return {
    ...tablePricing(priceTable),
    changes: changes.map((period) => ({
      from: new Date(period.fromMs).toISOString().replace('.000Z', 'Z'),
      ...tablePricing(period.table),
      hours: period.windows.map(windowPricing),
    })),
    hours: windows.map(windowPricing),
    prompt: formatPico(prices.inputPicoUsd),
    completion: formatPico(prices.outputPicoUsd),
    input_cache_read: formatPico(prices.cachedInputPicoUsd),
    input_cache_write: formatPico(prices.cacheWritePicoUsd),
  };
}

function windowPricing(window: PriceWindow): Json {
  return { ...windowHours(window), ...tablePricing(window.table) };
}

function tablePricing(table: PriceTable): Json {
  const tiers = [...table.serviceTiers].map(([name, tier]) => [name, tierPricing(tier)]);
  return { ...tierPricing(table), service_tiers: Object.fromEntries(tiers) };
}

function tierPricing({ prices, above }: TierPrices): Json {
  return {
    ...entryPricing(prices),
    above: above.map((entry) => ({ input_tokens: entry.inputTokens, ...entryPricing(entry.prices) })),
  };
}

function entryPricing(prices: Prices): Json {
  return Object.fromEntries(PRICE_FIELDS.map((field) => [PRICE_KINDS[field].name, usdPerMillionTokens(prices[field])]));
}

/** One pico-dollar per token is a millionth of a dollar per million tokens. */
function usdPerMillionTokens(picoUsd: bigint): number {
  return Number(picoUsd) / 1e6;
}
