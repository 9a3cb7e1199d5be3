import type { DeclaredModels } from '../config/load.ts';
import type { ShippedCatalogue } from './catalogue.ts';
import type { CatalogueModel } from './catalogue-model.ts';
import { type ConfiguredModel, configuredModels, usdTable } from './configured-model.ts';
import { type PriceDifference, priceDifferences } from './price-differences.ts';

/** A model's value that differs from the catalogue. */
export interface Difference {
  readonly model: string;
  readonly field: string;
  /** Null for a shutdown, which no configuration has. */
  readonly configured: number | null;
  readonly catalogue: number | string;
}

const DAY_MS = 86_400_000;
/** A shutdown is a difference for so long before its day. */
const SHUTDOWN_NOTICE_MS = 60 * DAY_MS;

/**
 * Compares every model with the entries of its targets: prices below the catalogue's, other costs,
 * limits above it, and shutdowns.
 */
export function modelDifferences(declared: DeclaredModels, catalogue: ShippedCatalogue, nowMs: number): Difference[] {
  const byId = new Map(catalogue.models.map((model) => [model.id, model]));
  const found = configuredModels(declared)
    .filter(({ disabled }) => !disabled)
    .flatMap((model) =>
      model.targets.flatMap((target) => {
        const entry = byId.get(`${catalogueProvider(target.provider, declared, catalogue)}/${target.model}`);
        return entry === undefined ? [] : differencesOf(model, target, entry, nowMs);
      }),
    );
  // Two targets of a model may be the same one of the catalogue.
  return [...new Map(found.map((one) => [JSON.stringify(one), one])).values()];
}

/**
 * The base URL identifies a provider under any name. Another URL may be that of a proxy, with the
 * provider's name.
 */
function catalogueProvider(name: string, { baseUrls }: DeclaredModels, catalogue: ShippedCatalogue): string {
  const url = baseUrls.get(name)?.href;
  const known = Object.entries(catalogue.providers).find(
    ([, { base_url }]) => url !== undefined && new URL(String(base_url)).href === url,
  );
  return known?.[0] ?? name;
}

type TargetEntry = ConfiguredModel['targets'][number];

function differencesOf(model: ConfiguredModel, target: TargetEntry, entry: CatalogueModel, nowMs: number) {
  const catalogue = entry.usd_per_million_tokens;
  const longest = model.context_window;
  const below = (configured: number, expected: number) => configured < expected;
  const prices = priceDifferences(usdTable(model.usd_per_million_tokens), catalogue, longest, below);
  const { cost_usd_per_million_tokens: cost } = target;
  const other = (configured: number, expected: number) => configured !== expected;
  const costs = cost === undefined ? [] : priceDifferences(usdTable(cost), catalogue, longest, other);
  const limits = [
    { field: 'context_window', configured: longest, catalogue: entry.context_window },
    { field: 'max_output_tokens', configured: model.max_output_tokens, catalogue: entry.max_output_tokens },
  ].filter((limit) => limit.configured > limit.catalogue);
  const differences = [
    ...placed('usd_per_million_tokens', prices),
    ...placed('cost_usd_per_million_tokens', costs),
    ...limits,
    ...shutdownOf(entry, nowMs),
  ];
  return differences.map((one): Difference => ({ model: model.id, ...one }));
}

function placed(place: string, differences: readonly PriceDifference[]): readonly PriceDifference[] {
  return differences.map((one) => ({ ...one, field: `${place}.${one.field}` }));
}

function shutdownOf({ shutdown_date: day }: CatalogueModel, nowMs: number) {
  if (day === undefined || Date.parse(day) > nowMs + SHUTDOWN_NOTICE_MS) return [];
  return [{ field: 'shutdown_date', configured: null, catalogue: day }];
}
