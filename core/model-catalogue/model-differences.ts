import type { DeclaredModels } from '../config/load.ts';
import { fixesServiceTier } from '../config/request-shaping.ts';
import type { ShippedCatalogue } from './catalogue.ts';
import type { CatalogueModel, CatalogueTable } from './catalogue-model.ts';
import { type ConfiguredModel, configuredModels, usdTable } from './configured-model.ts';
import { type MissingTier, missingTiers, type PriceDifference, priceDifferences } from './price-differences.ts';

/** A model's value that differs from the catalogue. */
export interface Difference {
  readonly model: string;
  readonly field: string;
  /** Null where it lacks something: a shutdown, a service tier. */
  readonly configured: number | null;
  /** The day of a shutdown, and the prices of a tier, are texts. */
  readonly catalogue: number | string;
}

const DAY_MS = 86_400_000;
/** A shutdown is a difference for so long before its day. */
const SHUTDOWN_NOTICE_MS = 60 * DAY_MS;

/**
 * Compares every model with the entries of its targets: prices below the catalogue's, other costs,
 * service tiers without a price, limits above it, files that may be longer than is held, and
 * shutdowns.
 */
export function modelDifferences(declared: DeclaredModels, catalogue: ShippedCatalogue, nowMs: number): Difference[] {
  const found = knownTargets(declared, catalogue).flatMap(({ model, target, entry }) => {
    const servesTiers = !declared.untiered.has(target.provider) && !fixesServiceTier(target.request);
    return differencesOf({ model, target, entry, servesTiers, nowMs });
  });
  // Two targets of a model may be the same one of the catalogue.
  return [...new Map(found.map((one) => [JSON.stringify(one), one])).values()];
}

interface KnownTarget {
  readonly model: ConfiguredModel;
  readonly target: ConfiguredModel['targets'][number];
  readonly entry: CatalogueModel;
}

/** Targets of all enabled models that the catalogue has, with its entry. */
export function knownTargets(declared: DeclaredModels, catalogue: ShippedCatalogue): readonly KnownTarget[] {
  const byId = new Map(catalogue.models.map((model) => [model.id, model]));
  return configuredModels(declared)
    .filter(({ disabled }) => !disabled)
    .flatMap((model) =>
      model.targets.flatMap((target) => {
        const entry = byId.get(`${catalogueProvider(target.provider, declared, catalogue)}/${target.model}`);
        return entry === undefined ? [] : [{ model, target, entry }];
      }),
    );
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

interface Compared extends KnownTarget {
  readonly servesTiers: boolean;
  readonly nowMs: number;
}

function differencesOf({ model, target, entry, servesTiers, nowMs }: Compared): readonly Difference[] {
  const { context_window, longest_prompt = context_window, max_output_tokens } = model;
  const { usd_per_million_tokens: catalogue, context_window: window } = entry;
  // The configured window ends no prompt: requests are checked against an estimate, and only the
  // provider counts files.
  const tableDifferences = (table: CatalogueTable, differs: (configured: number, expected: number) => boolean) => [
    ...priceDifferences(table, catalogue, window, differs),
    ...(servesTiers ? missingTiers(table, catalogue) : []),
  ];
  const prices = tableDifferences(usdTable(model.usd_per_million_tokens), (ours, theirs) => ours < theirs);
  const { cost_usd_per_million_tokens: cost } = target;
  const costs = cost === undefined ? [] : tableDifferences(usdTable(cost), (ours, theirs) => ours !== theirs);
  const limits = [
    { field: 'context_window', configured: context_window, catalogue: window },
    { field: 'max_output_tokens', configured: max_output_tokens, catalogue: entry.max_output_tokens },
  ].filter((limit) => limit.configured > limit.catalogue);
  const isShort = model.capabilities.includes('files') && longest_prompt < window;
  const differences = [
    ...placed('usd_per_million_tokens', prices),
    ...placed('cost_usd_per_million_tokens', costs),
    ...limits,
    ...(isShort ? [{ field: 'longest_prompt', configured: longest_prompt, catalogue: window }] : []),
    ...shutdownOf(entry, nowMs),
  ];
  return differences.map((one): Difference => ({ model: model.id, ...one }));
}

function placed(place: string, differences: readonly (PriceDifference | MissingTier)[]) {
  return differences.map((one) => ({ ...one, field: `${place}.${one.field}` }));
}

function shutdownOf({ shutdown_date: day }: CatalogueModel, nowMs: number) {
  if (day === undefined || Date.parse(day) > nowMs + SHUTDOWN_NOTICE_MS) return [];
  return [{ field: 'shutdown_date', configured: null, catalogue: day }];
}
